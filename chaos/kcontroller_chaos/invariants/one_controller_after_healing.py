"""After healing exactly one node says that it is the active controller, and its session owns /controller."""

from __future__ import annotations

from kcontroller_chaos.checking import LIVENESS, Verdict
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import NodeStarted


class OneControllerAfterHealing(Invariant):
    name = "one-controller-after-healing"
    kind = LIVENESS
    expected = "exactly one active node, whose session owns /controller"
    source = "KAFKA-4229, KAFKA-8532: no controller after session expiries"

    def check(self, history: History) -> Verdict:
        tree = history.tree
        if tree is not None and not history.of(NodeStarted):
            return self._by_zookeeper(tree)
        if tree is None or not history.statuses:
            return Verdict.unknown("the run did not reach its end: no node.status or zk.tree")
        active = {node: status["session"] for node, status in sorted(history.statuses.items()) if status["active"]}
        owner = tree["controller_owner"]
        if len(active) == 1 and owner is not None and list(active.values()) == [owner]:
            return Verdict.of(len(history.statuses))
        named = ", ".join(f"node {n} ({s})" for n, s in active.items()) or "none"
        seen = f"active: {named}; /controller is of {owner or 'nobody'}"
        witness = {"active": sorted(active), "sessions": active, "controller_owner": owner}
        checks = len(history.statuses)
        return Verdict.violated(checks, seen=seen, where="the end", witness=witness)

    @staticmethod
    def _by_zookeeper(tree: Event) -> Verdict:
        """Where no node is ours, none says whether it is active: the one that /controller names has to be registered."""
        if tree["controller"] in tree["brokers"]:
            return Verdict.of(1)
        seen = f"/controller names {tree['controller']}; registered are {tree['brokers']}"
        return Verdict.violated(1, seen=seen, where="the end", witness={"controller": tree["controller"]})
