"""Which names topics may have: Kafka's rule (org.apache.kafka.common.internals.Topic)."""

from __future__ import annotations

import re

from pytest_kcontroller.model.text import shown

LONGEST = 249
_LEGAL = re.compile(r"[A-Za-z0-9._-]+")
RULE = f"1 to {LONGEST} of a-z, A-Z, 0-9, `.`, `_` and `-`, but not `.` or `..`"


def is_topic_name(name: object) -> bool:
    return isinstance(name, str) and len(name) <= LONGEST and bool(_LEGAL.fullmatch(name)) and name not in (".", "..")


def why_no_topic_name(name: object) -> str | None:
    """None: it is one."""
    return None if is_topic_name(name) else f"{shown(name)} is no name of a topic"


def collide(one: str, other: str) -> bool:
    """Two names that differ only in `.` and `_` would be one name in Kafka's metrics, so it refuses the second."""
    return one != other and one.replace(".", "_") == other.replace(".", "_")
