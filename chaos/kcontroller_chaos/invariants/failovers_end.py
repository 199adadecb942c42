"""Of three controllers in a row one at least ends its failover, unless it is replaced or loses its session over it.

What fails each of them alike is in ZooKeeper, and stays there: then there is no controller any more, whoever is elected.
"""

from __future__ import annotations

from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.history import ControllerFailover, ControllerResigned

MOST = 2
FAILED = "its failover failed"
"""How the reason of a resignation begins that nobody else is the cause of (Controller.elect)."""


class FailoversEnd(Invariant):
    name = "failovers-end"
    kind = SAFETY
    expected = "no three failovers in a row fail"
    source = "kafka.controller.KafkaController.onControllerFailover; seen in Kafka 2.8.2 and 3.9.1"

    def check(self, history: History) -> Verdict:
        terms = sorted(history.of(ControllerFailover, ControllerResigned), key=lambda event: int(event["epoch"]))
        checks, failed = 0, list[Event]()
        for term in terms:
            if term["kind"] == ControllerFailover.kind:
                checks, failed = checks + 1, []
            elif str(term["reason"]).startswith(FAILED):
                failed.append(term)
            if len(failed) > MOST:
                epochs = [event["epoch"] for event in failed]
                seen = f"the controllers of the epochs {epochs} resigned: {term['reason']}"
                witness = {"epochs": epochs, "reason": term["reason"]}
                return Verdict.violated(checks + 1, seen=seen, where=f"epoch {epochs[0]}", witness=witness)
        return Verdict.of(checks)
