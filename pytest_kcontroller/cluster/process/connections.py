"""Who is connected with whom, as the system sees it."""

from __future__ import annotations

import psutil

from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import Address


def established(pid: int) -> list[tuple[Address, Address]]:
    """Local and remote end of each TCP connection that a process opened, sorted: not those that its listeners accepted.

    Raises EnvironmentFailure if there is no such process, or not one that we may look at.
    """
    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error as hidden:
        raise EnvironmentFailure(f"the connections of process {pid} cannot be seen: {hidden}") from None
    listening = {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}
    return sorted(
        (Address(connection.laddr.ip, connection.laddr.port), Address(connection.raddr.ip, connection.raddr.port))
        for connection in connections
        if connection.status == psutil.CONN_ESTABLISHED and connection.laddr.port not in listening
    )
