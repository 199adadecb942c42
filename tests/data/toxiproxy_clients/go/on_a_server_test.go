// What the API tests of toxiproxy's own module (api_test.go, which is put beside this file) need to run on a server that
// runs already: SERVER is its HOST:PORT. Addresses in the tests are on HOST instead of localhost, since their ports are fixed.
// Each of their strings with an address goes through `placed`; VERSION is the server's, which they take for built from source.
package toxiproxy_test

import (
	"net"
	"os"
	"strings"
	"testing"
)

var server = os.Getenv("SERVER")

func WithServer(t *testing.T, f func(string)) {
	defer func() {
		proxies, err := client.Proxies()
		if err != nil {
			t.Fatal(err)
		}
		for _, proxy := range proxies {
			if err := proxy.Delete(); err != nil {
				t.Error(err)
			}
		}
	}()
	f("http://" + server)
}

var places = strings.NewReplacer(
	"localhost:8475", server, "127.0.0.1:8475", server,
	"localhost:", os.Getenv("HOST")+":", "127.0.0.1:", os.Getenv("HOST")+":",
)

func placed(text string) string { return places.Replace(text) }

func version() string { return os.Getenv("VERSION") }

func AssertProxyUp(t *testing.T, address string, up bool) net.Conn {
	connection, err := net.Dial("tcp", address)
	if (err == nil) != up {
		t.Errorf("%s: up is to be %t: %v", address, up, err)
	}
	return connection
}
