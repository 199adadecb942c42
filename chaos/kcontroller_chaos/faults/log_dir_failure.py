"""log_dir_failure: a broker can read and write a log directory no more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.faults import parameter
from kcontroller_chaos.faults._halting import HALTED, Halting, halted
from kcontroller_chaos.feed import Event, writer_is
from kcontroller_chaos.history.transactions import ZkTxn
from kcontroller_chaos.injection import Evidence, Injection, Placement, Wrong
from pytest_kcontroller.broker.log_dir import log_dir_names
from pytest_kcontroller.cluster.capabilities import DISKS, REPORTS
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.errors import EnvironmentFailure
from pytest_kcontroller.model.cluster import MOST_LOG_DIRS
from pytest_kcontroller.model.history import (
    BrokerLogDirOffline,
    FaultAsked,
    FaultHealed,
    FaultNotApplied,
    FaultNotHealed,
    FaultNotObserved,
    FaultObserved,
    FaultSkipped,
)
from pytest_kcontroller.zookeeper.znodes import LOG_DIR_EVENT

CHOSEN = -1
_SEEN_OR_OVER = tuple(
    step.kind for step in (FaultObserved, FaultNotObserved, FaultNotApplied, FaultSkipped, FaultHealed, FaultNotHealed)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirFailure(Halting):
    """A log directory of the node's fails, which it finds out with its next read or write there. It goes on without the
    replicas in it, or halts, if it has no other one. Healing starts it again with that directory as it was."""

    kind = "log_dir_failure"
    example = """\
[[faults]]
kind = "log_dir_failure"
target = "leader-of:orders-0"
at_s = 2
"""
    directory: int = parameter(
        CHOSEN,
        "number of the log directory, from 0; -1: the one with the target's partition (leader-of:TOPIC-N), else the first "
        "that has one",
        least=CHOSEN,
        most=MOST_LOG_DIRS - 1,
    )

    def wrong_at(self, at: Placement) -> Wrong | None:
        if self.directory >= at.log_dirs:
            what = f"the cluster's nodes have log_dirs = {at.log_dirs}, numbered from 0"
            return "directory", what, "give them more `log_dirs`, or name another"
        return Halting.wrong_at(self, at)

    async def inject(self, on: Injection) -> None:
        """Keeps the name of the directory, and whether it is the last one that lives."""
        disks, count = on.cluster.capability(DISKS), on.cluster.log_dirs
        if self.directory >= count:
            raise EnvironmentFailure(f"node {on.node} has log_dirs = {count}, numbered from 0")
        if not on.cluster.has(REPORTS) and (other := _unobserved(on)) is not None:
            what = f"node {on.node} has not told yet of the log directory that has failed by {other}"
            raise EnvironmentFailure(
                f"{what}, and what it tells is of no directory by name",
                hint=f'wait for that: when = "observed:{other}"',
            )
        live = disks.log_dirs_of(on.node)
        name = self._chosen(on, live)
        disks.fail_log_dir(on.node, name)
        on.kept += [name, list(live) == [name]]

    def _chosen(self, on: Injection, live: Mapping[str, Collection[str]]) -> str:
        names = log_dir_names(on.cluster.log_dirs)
        if self.directory != CHOSEN:
            return names[self.directory]
        asked = [name for name, kept in live.items() if on.target.partition(":")[2] in kept]
        if not (found := asked or [name for name, kept in live.items() if kept] or list(live)):
            raise EnvironmentFailure(f"all log directories of node {on.node} have failed already")
        return found[0]

    async def observe(self, on: Injection) -> Evidence:
        """Of the last one that lives, as of `disk_full`. Else the node's own record of the error that it got, and that in
        a session of its ZooKeeper was told what the controller has to know."""
        if on.cluster.log_dirs == 1 or on.kept[1:] == [True]:
            return await Halting.observe(self, on)
        found: dict[str, Any] = {}
        if on.cluster.has(REPORTS):
            said = await on.feed.wait(lambda event: _is_said(event, on), since=on.since)
            found = {key: said[key] for key in ("directory", "partitions", "code", "file")}
        told = await on.feed.wait(lambda event: _is_told(event, on), since=on.since)
        return {**found, "zxid": told["zxid"], "session": told["session"], "t_us": told["t_us"]}

    async def look_again(self, on: Injection) -> None:
        if on.cluster.log_dirs > 1 and on.kept and on.kept[0] in on.cluster.capability(DISKS).log_dirs_of(on.node):
            raise EnvironmentFailure(f"{on.kept[0]} of node {on.node}, which had failed, is there again")
        if on.cluster.log_dirs == 1 or on.kept[1:] == [True]:
            await Halting.look_again(self, on)
        elif not on.cluster.has(REPORTS):
            _must_live(on)

    def mend(self, on: Injection) -> None:
        if on.kept:
            on.cluster.capability(DISKS).mend_log_dir(on.node, on.kept[0])

    async def heal(self, on: Injection) -> None:
        """A broker does not use a directory again that has failed, until it is started again."""
        if on.cluster.log_dirs > 1 and on.kept and on.node in on.cluster.running:
            try:
                status = await on.cluster.stop_node(on.node)
            finally:
                self.mend(on)
            if status in on.cluster.stop_statuses:  # else somebody else has ended it meanwhile
                await on.cluster.restart(on.node)
                return
        if on.cluster.log_dirs == 1 or on.kept[1:] == [True]:
            await Halting.heal(self, on)
        else:
            self.mend(on)

    def statuses(self, cluster: Cluster) -> tuple[int, ...] | None:
        """By the healing, if it has others."""
        return (HALTED,) if cluster.log_dirs == 1 else (HALTED, *cluster.stop_statuses)

    def costs_session(self, cluster: Cluster) -> bool:
        """A node with others keeps it, until it is healed; with the last one its process ends."""
        return cluster.log_dirs == 1

    @property
    def parameters(self) -> dict[str, Any]:
        return {} if self.directory == CHOSEN else {"directory": self.directory}


def _unobserved(on: Injection) -> str | None:
    """The fault by which another log directory of the node's has failed, and of which nobody has seen anything yet."""
    on.feed.poll()
    waiting: dict[str, None] = {}
    for event in on.feed.events:
        if event["kind"] == FaultAsked.kind and event["fault_kind"] == LogDirFailure.kind and on.node in event["nodes"]:
            waiting[event["fault"]] = None
        elif event["kind"] in _SEEN_OR_OVER:
            waiting.pop(event["fault"], None)
    return next((fault for fault in waiting if fault != on.fault), None)


def _must_live(on: Injection) -> None:
    """Raises EnvironmentFailure: the node has halted with a log directory left. Of one that records what it does,
    nodes-stay-up says so."""
    left = on.cluster.capability(DISKS).log_dirs_of(on.node)
    if halted(on) is not None and on.node not in on.cluster.running and left:
        raise EnvironmentFailure(f"node {on.node} has halted, although {', '.join(left)} has not failed")


def _is_said(event: Event, on: Injection) -> bool:
    """By this node; of the directory that has failed, if any has."""
    return bool(
        event["kind"] == BrokerLogDirOffline.kind
        and writer_is(event["writer"], on.node)
        and event["directory"] in (on.kept[:1] or [event["directory"]])
    )


def _is_told(event: Event, on: Injection) -> bool:
    """In a session of the node's: a new one, if the one that it had has ended meanwhile."""
    return bool(
        event["kind"] == ZkTxn.kind
        and event["session"] in [hex(session.session_id) for session in on.cluster.sessions(on.node)]
        and any(op.get("path", "").startswith(LOG_DIR_EVENT) for op in event.get("ops") or ())
    )
