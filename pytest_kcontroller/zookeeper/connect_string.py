"""Where a ZooKeeper is, as one types it: `HOST:PORT[,HOST:PORT...][/chroot]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.model.text import printable

RESERVED = "zookeeper"
"""The znode that a server keeps for itself."""


@dataclass(frozen=True, slots=True)
class ConnectString:
    """`chroot` is empty, or a path without a slash at its end."""

    servers: tuple[Address, ...]
    chroot: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, which says what is wrong."""
        hosts, slash, path = text.partition("/")
        servers = tuple(Address.parse(host) for host in hosts.split(","))
        names = path.split("/") if path else []
        if slash and not path:
            return cls(servers)
        for name in names:
            if not name or name in (".", "..") or printable(name) != name:
                raise ValueError(f"the path {slash + path!r} has no znode {name!r}")
        if names and names[0] == RESERVED:
            raise ValueError(f"/{RESERVED} is the server's own")
        return cls(servers, "".join(f"/{name}" for name in names))

    @property
    def hosts(self) -> str:
        """Without the chroot."""
        return ",".join(map(str, self.servers))

    @property
    def prefixes(self) -> list[str]:
        """The znodes that the chroot needs, the first one at the root."""
        parts = self.chroot.split("/")
        return ["/".join(parts[:length]) for length in range(2, len(parts) + 1)]

    def __str__(self) -> str:
        return self.hosts + self.chroot
