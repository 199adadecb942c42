// The site's search runs in a worker, and a browser starts none for a page that was opened from a folder (file://).
// There its script runs in a hidden frame of the page instead, with the part of a worker's interface that it uses.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe")
    #ready

    constructor(url) {
      super()
      this.#frame.hidden = true
      document.documentElement.append(this.#frame)
      const inside = this.#frame.contentWindow
      const worker = new URL(url, location.href)
      const load = (address) => new Promise((loaded, failed) => {
        const script = inside.document.createElement("script")
        script.onload = loaded
        script.onerror = () => failed(new Error(`${address} cannot be loaded`))
        script.src = new URL(address, worker)
        inside.document.head.append(script)
      })
      inside.importScripts = (...addresses) => Promise.all(addresses.map(load))
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.addEventListener("message", (event) => this.onmessage?.(event))
      this.#ready = load(worker)
    }

    postMessage(data) {
      const inside = this.#frame.contentWindow
      this.#ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }

    terminate() {
      this.#frame.remove()
    }
  }
}
