"""What a program says that is not ours: the JSON objects that it prints, and its last words. The harness writes it, as that
node's history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pytest_kcontroller.model.history.event import About, HistoryEvent, Rank, event
from pytest_kcontroller.model.history.fields import Node


@event
class ProgramSaid(HistoryEvent):
    """The node's program has printed a line that is a JSON object; its time is that of the first look that found it."""

    kind = "program.said"
    rank = Rank.LEADERSHIP
    text = "the program of node {node} says: {said}"
    node: Node
    said: Annotated[Mapping[str, Any], About("the object as it was printed")]
    since_us: Annotated[
        int, About("the run time of the last look that did not find it: it was printed after that", unit="microseconds")
    ]
    at_us: Annotated[
        int | None,
        About(
            "the run time that it gives itself with `at_ns`; null: it gives none, or none of this run",
            unit="microseconds",
        ),
    ] = None


@event
class ProgramEnded(HistoryEvent):
    """A process of the node's program has ended."""

    kind = "program.ended"
    rank = Rank.UNTOLD
    text = "the program of node {node} has ended; it printed last: {last}"
    node: Node
    last: Annotated[
        list[str], About("the last lines that it printed, on stderr or stdout, without those of a stack trace")
    ]
