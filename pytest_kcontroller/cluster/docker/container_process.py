"""Runs a container and ends it when its owner dies: what supervisor.py is to a process. Run by containers.Contained.

    python -m pytest_kcontroller.cluster.docker.container_process OWNER_FD STATUS_FD

What to run is in the variable SPEC_VARIABLE. OWNER_FD is the read end of a pipe whose write end only the owner holds. A byte
on it is the order to stop; end of file means that the owner is gone: then the directories of the spec are removed too.
STATUS_FD gets JSON lines: `phase`, then `pid`, `port` and `published` (on 127.0.0.1) or `error` and `hint`, and `status`
when the container has ended. It prints what that prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from pytest_kcontroller.cluster.children.supervisor import ready
from pytest_kcontroller.cluster.docker.containers import DISK_MB, SPEC_VARIABLE, STOP_S, ContainerSpec, engine, labels
from pytest_kcontroller.errors import EnvironmentFailure, UsageError

LOG_END_S = 5.0


def main() -> int:
    owner, status = int(sys.argv[1]), int(sys.argv[2])
    spec = ContainerSpec(**json.loads(os.environ[SPEC_VARIABLE]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from docker.errors import DockerException

    try:
        report_to(status, phase="looking for a Docker engine")
        with engine() as client:
            get_image(client, spec, status)
            if owner_is_silent(owner):
                run(client, spec, owner, status)
    except (EnvironmentFailure, UsageError) as failed:
        report_to(status, error=failed.what, hint=failed.hint)
    except (DockerException, OSError) as refused:
        report_to(status, error=f"the engine refused: {getattr(refused, 'explanation', None) or refused}", hint="")
    return leave(owner, spec)


def get_image(client: Any, spec: ContainerSpec, status: int) -> None:
    from docker.errors import APIError, ImageNotFound

    image = spec.image
    try:
        client.images.get(image)
        return
    except ImageNotFound:
        report_to(status, phase=f"pulling the image {image}")
    try:
        client.images.pull(image)
    except APIError as refused:
        another = f", or name another image ({spec.named_by})" if spec.named_by else ""
        raise EnvironmentFailure(
            f"the image {image} is not here and cannot be pulled: {refused.explanation}",
            hint=f"try `docker pull {image}`{another}",
        ) from None


def run(client: Any, spec: ContainerSpec, owner: int, status: int) -> None:
    """Until the container ends, or its owner orders it to, or dies."""
    report_to(status, phase="the container starts")
    with created(client, spec) as container:
        output = container.attach(stream=True, demux=True)  # before it says anything
        container.start()
        container.reload()
        wake_read, wake_write = os.pipe()
        threads = [
            copying := threading.Thread(target=copy_log, args=(output,), daemon=True),
            threading.Thread(target=wait_end, args=(container, copying, status, wake_write), daemon=True),
        ]
        for thread in threads:
            thread.start()
        pid = container.attrs["State"]["Pid"]
        ports = {port: found for port in (spec.port, *spec.more_ports) if (found := _published(container, spec, port))}
        if pid and (spec.port in ports or not spec.port):  # a container that has ended already has none
            report_to(status, pid=pid, port=ports.pop(spec.port, 0), published=list(ports.items()))
        if owner in ready(owner, wake_read):
            if not spec.user:
                let_files_be_removed(container, spec)
            container.stop(timeout=STOP_S)
        for thread in threads:
            thread.join(LOG_END_S)


@contextlib.contextmanager
def created(client: Any, spec: ContainerSpec) -> Iterator[Any]:
    """The container, which is removed at the end; then its disks, which an engine makes before it refuses a container."""
    try:
        container = client.containers.create(
            spec.image,
            list(spec.command) or None,
            name=spec.name,
            environment=dict(spec.environment),
            **_network(client, spec),
            volumes={here: {"bind": there, "mode": "rw"} for here, there in spec.volumes.items()},
            mounts=_disks(spec),
            labels=labels(spec.network),
            user=spec.user or None,
            working_dir=spec.directory or None,
            init=spec.init,
        )
        try:
            yield container
        finally:
            remove(container)
    finally:
        remove_disks(client, spec)


def _disks(spec: ContainerSpec) -> list[Any]:
    from docker.types import DriverConfig, Mount

    options = f"size={DISK_MB}m,mode=0700"
    if spec.user:
        uid, gid = spec.user.split(":")
        options += f",uid={uid},gid={gid}"
    driver = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": options})
    more = {"type": "volume", "no_copy": True, "driver_config": driver, "labels": labels(spec.network)}
    return [Mount(there, name, **more) for name, there in spec.disks.items()]


def _network(client: Any, spec: ContainerSpec) -> dict[str, Any]:
    if spec.host_network:
        return {"network_mode": "host"}
    ports: dict[str, tuple[str, int | None]] = {f"{port}/tcp": ("127.0.0.1", None) for port in spec.more_ports}
    if spec.port:
        ports[f"{spec.port}/tcp"] = ("127.0.0.1", spec.published)
    if not spec.network:
        return {"ports": ports}
    place = client.api.create_endpoint_config(ipv4_address=spec.ip)
    return {"ports": ports, "network": spec.network, "networking_config": {spec.network: place}}


def _published(container: Any, spec: ContainerSpec, port: int) -> int | None:
    """Where it can be reached on this machine's loopback."""
    if spec.host_network:
        return port if container.status == "running" else None
    found = container.ports.get(f"{port}/tcp")
    return int(found[0]["HostPort"]) if found else None


def remove(container: Any) -> None:
    """Whether we do it or somebody else has."""
    from docker.errors import APIError

    try:
        container.remove(force=True, v=True)
    except APIError as refused:
        if refused.status_code not in (404, 409):
            raise


def remove_disks(client: Any, spec: ContainerSpec) -> None:
    """Those that no other container has: whoever removes the last one of these comes here after it."""
    from docker.errors import APIError

    for name in spec.disks:
        try:
            client.api.remove_volume(name)
        except APIError as refused:
            if refused.status_code not in (404, 409):
                raise


def copy_log(output: Any) -> None:
    for said, complained in output:
        for chunk, to in ((said, sys.stdout.buffer), (complained, sys.stderr.buffer)):
            if chunk:
                to.write(chunk)
                to.flush()


def wait_end(container: Any, copying: threading.Thread, status: int, wake: int) -> None:
    """Tells of its end when its last lines are in the log."""
    code = container.wait()["StatusCode"]
    copying.join(LOG_END_S)
    report_to(status, status=code)
    os.write(wake, b"e")


def let_files_be_removed(container: Any, spec: ContainerSpec) -> None:
    """The image's user owns what it wrote into our directories: we may be somebody else, and not root."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):  # it has ended by itself meanwhile
        container.exec_run(["chmod", "-R", "a+rwX", *spec.volumes.values()], user="root")


def owner_is_silent(owner: int) -> bool:
    return not ready(owner, limit_s=0)


def leave(owner: int, spec: ContainerSpec) -> int:
    """Waits for the owner's last word; without one, it is gone."""
    if not os.read(owner, 1):
        for directory in spec.cleanup:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


def report_to(to: int, **report: object) -> None:
    with contextlib.suppress(BrokenPipeError):  # the owner is gone: `leave` will see it
        os.write(to, json.dumps(report).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
