"""A topic keeps its id for as long as it lives, and one that is made again under its name has another (KIP-516).

One that a tool before Kafka 2.8 has made gets its id later, once.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcontroller_chaos.checking import SAFETY, WRITES, Verdict, is_topic, writes
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.model.text import in_words


class TopicIdsStay(Invariant):
    name = "topic-ids-stay"
    kind = SAFETY
    expected = "a topic's id never changes, and no topic has the id of another one"
    source = "KIP-516 (topic ids)"

    def check(self, history: History) -> Verdict:
        ids: dict[str, str | None] = {}
        owners: dict[str, tuple[str, int]] = {}
        """Id -> path of the topic, and the zxid at which it was made."""
        made: dict[str, int] = {}
        checks = 0
        for write in writes(history):
            if not is_topic(write.path):
                continue
            if write.type not in WRITES:
                ids.pop(write.path, None)
                made.pop(write.path, None)
                continue
            written = write.json
            if not isinstance(written, Mapping) or not isinstance(topic_id := written.get("topic_id"), str | None):
                continue  # somebody else wrote it, and it is no topic
            checks += 1
            before = ids.get(write.path)
            topic = write.path, made.setdefault(write.path, write.zxid)
            owner = topic if topic_id is None else owners.setdefault(topic_id, topic)
            if (before is not None and topic_id != before) or owner != topic:
                seen = f"{write.path} has the id {in_words(topic_id)}"
                seen += f" after {before}" if owner == topic else f", which {owner[0]} got at zxid {owner[1]:#x}"
                return Verdict.violated(
                    checks, seen=seen, where=write.where, witness=write.witness(before=before, now=topic_id)
                )
            ids[write.path] = topic_id
        return Verdict.of(checks)
