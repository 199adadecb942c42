"""Makes a network and removes it when its owner dies: what container_process is to a container. Run by network.Network.

    python -m pytest_kcontroller.cluster.docker.network_process OWNER_FD STATUS_FD NAME

The pipes are container_process's. STATUS_FD gets one JSON line, `subnet`, or `error` and `hint`; one more with an `error` if
it could not be removed.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pytest_kcontroller.cluster.children.supervisor import ready
from pytest_kcontroller.cluster.docker.container_process import report_to
from pytest_kcontroller.cluster.docker.containers import engine, labels
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError

TRIES = 20
"""All workers of a run may want one at the same time."""
REMOVE_S, POLL_S = 60.0, 0.1
"""Those who look after its containers remove them at the same time, and each has STOP_S to end."""


def main() -> int:
    owner, status, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from docker.errors import DockerException

    try:
        with engine() as client:
            network, subnet = create(client, name)
            try:
                report_to(status, subnet=subnet)
                os.read(owner, 1)
            finally:
                remove(network)
    except (EnvironmentFailure, MissingExtraError) as failed:
        report_to(status, error=failed.what, hint=failed.hint)
    except (DockerException, OSError) as refused:
        report_to(status, error=f"the engine refused: {getattr(refused, 'explanation', None) or refused}", hint="")
    return 0


def create(client: Any, name: str) -> tuple[Any, str]:
    """And its subnet. The engine knows which one is free, and lets nobody choose an address in one that it chose: so it is
    asked, and then told."""
    from docker.errors import APIError
    from docker.types import IPAMConfig, IPAMPool

    for left in reversed(range(TRIES)):
        asked = client.networks.create(name, driver="bridge", labels=labels(name))
        asked.reload()
        subnet = str(asked.attrs["IPAM"]["Config"][0]["Subnet"])
        asked.remove()
        pool = IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)])
        try:
            return client.networks.create(name, driver="bridge", labels=labels(name), ipam=pool), subnet
        except APIError:
            if not left:  # somebody else was faster, again and again
                raise
    raise AssertionError("unreachable")


def remove(network: Any) -> None:
    """Once nobody is in it."""
    from docker.errors import APIError

    left_s = REMOVE_S
    while True:
        try:
            network.remove()
            return
        except APIError as refused:
            if refused.status_code == 404:
                return
            if left_s <= 0:
                raise
        ready(limit_s=POLL_S)
        left_s -= POLL_S


if __name__ == "__main__":
    sys.exit(main())
