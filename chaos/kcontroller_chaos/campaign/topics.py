"""The names of the topics that a campaign file makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_kcontroller.model.topic_names import RULE, collide, why_no_topic_name


def wrong_topic_name(
    topics: Sequence[Mapping[str, Any]], workload: Sequence[Mapping[str, Any]]
) -> tuple[str, int, str, str, str] | None:
    """Section, index, key, what is wrong and a hint, of the first name that ends the run when it has begun; None: all can
    be made. Kafka's rules, and no two `[[topics]]` of one name: a workload may ask for a topic that is there, which is
    refused, and told."""
    named = [("topics", index, "name", row["name"]) for index, row in enumerate(topics)]
    for index, row in enumerate(workload):
        made = () if row["does"] is None else row["does"].topics_after({})
        named += [("workload", index, "topic", name) for name in made]
    for number, (section, index, key, name) in enumerate(named):
        if (why := why_no_topic_name(name)) is not None:
            return section, index, key, why, RULE
        before = [other for *_, other in named[:number]]
        if name in before and section == "topics":
            return section, index, key, f"two topics are called {name!r}", "give one another name"
        if twin := next((other for other in before if collide(name, other)), None):
            what = f"{name!r} collides with {twin!r}: in Kafka's metrics `.` and `_` are one"
            return section, index, key, what, "give one another name"
    return None
