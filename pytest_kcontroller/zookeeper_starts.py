"""A ZooKeeper that has never started in this run is not waited for again by each test: it would take as long for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_kcontroller.errors import EnvironmentError_, StartError
from pytest_kcontroller.zookeeper_fixture import NoSessionError

SERVER = "ZooKeeper"
"""What a StartError calls it; other processes' starts are theirs."""


@dataclass(slots=True)
class ZooKeeperStarts:
    """Of this pytest process, by where the server comes from: an image, `embedded` or HOST:PORT."""

    _failed: dict[str, tuple[str, str]] = field(default_factory=dict)
    _worked: set[str] = field(default_factory=set)

    @contextmanager
    def trying(self, source: str, who: str) -> Iterator[None]:
        """Around a start (or the first session with a server that somebody else runs), asked for by the test `who`.

        Raises EnvironmentError_ at once if the first one has failed. One that fails after another has worked says nothing
        about the next: the host was busy.
        """
        if source in self._failed:
            first, message = self._failed[source]
            raise EnvironmentError_(f"tried before in this run, for {first}, and not tried again: {message}")
        try:
            yield
        except (StartError, NoSessionError) as failed:
            ours = isinstance(failed, NoSessionError) or failed.name == SERVER
            if ours and source not in self._worked:
                self._failed[source] = who, str(failed)
            raise
        self._worked.add(source)
