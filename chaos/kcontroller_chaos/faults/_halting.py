"""What the faults share by which a broker loses its last log directory: it finds out by itself, and halts."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from kcontroller_chaos.faults._processes import Down, ended_with
from kcontroller_chaos.feed import Event, writer_is
from kcontroller_chaos.injection import PROCESS, SESSION, TASKS, Evidence, Injection
from pytest_kcontroller.cluster.capabilities import BROKERS, DISKS, REPORTS, Capability
from pytest_kcontroller.model.history import BrokerLogDirFailed, ProcessExited

HALTED = 1
"""Kafka's status: Exit.halt(1)."""
NOTICED_S = 3.0
"""So long it may take until a broker that got an error has halted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halting(Down):
    """Healing takes back what this fault did to the disk, and starts the node again that has halted by it, on what was there
    before."""

    ends_session = ends_process = True
    exit_statuses = (HALTED,)
    claims = (PROCESS, SESSION, TASKS)
    needs: ClassVar[tuple[Capability[object], ...]] = (BROKERS, DISKS)

    async def observe(self, on: Injection) -> Evidence:
        """The node's own record of the error that it got; the supervisor saw the process end by itself, and ZooKeeper gave
        up the session that nobody closed."""
        found: dict[str, Any] = {}
        if on.cluster.has(REPORTS):
            said = await on.feed.wait(
                lambda e: e["kind"] == BrokerLogDirFailed.kind and writer_is(e["writer"], on.node), since=on.since
            )
            found = {"code": said["code"], "file": said["file"]}
        ended = await ended_with(on, HALTED)
        return {**found, "status": HALTED, "exited_us": ended["t_us"], **await on.wait_closed(by_client=False)}

    @abstractmethod
    def mend(self, on: Injection) -> None:
        """Takes back what `inject` did to the disk, and nothing that another fault did; called once or twice."""

    async def heal(self, on: Injection) -> None:
        """A node that somebody else has ended is started again by them, and one whose disk has failed by another fault, when
        that is healed."""
        self.mend(on)
        if on.node in on.cluster.running or halted(on) is None:
            return
        if on.cluster.capability(DISKS).log_dirs_of(on.node):
            await on.cluster.restart(on.node)

    def within_s(self, on: Injection) -> float:
        return on.cluster.checkpoint_s + NOTICED_S + 2 * on.cluster.session_timeout_ms / 1000


def halted(on: Injection) -> Event | None:
    """That the node's process has halted since."""
    on.feed.poll()
    return on.feed.find(
        lambda e: e["kind"] == ProcessExited.kind and e["node"] == on.node and e["status"] == HALTED, since=on.since
    )
