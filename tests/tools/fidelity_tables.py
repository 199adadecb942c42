"""The tables of docs/fidelity.md: what is compared with Kafka's controller, what is left out, what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.fidelity.explained import EXPLAINED
from tests.fidelity.judging import why_not_run
from tests.fidelity.operations import OPERATIONS
from tests.fidelity.scenarios.explained import EXPLAINED_STEPS
from tests.fidelity.scenarios.records import shared_records
from tests.fidelity.scenes import scene_of
from tests.fidelity.vectors import SHARED, load, shared


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def vectors_table() -> str:
    """Of each operation: how many vectors there are, and how many of them are run."""
    by_hand, computed = (Counter(vector.operation for vector in load(path)) for path in SHARED)
    run = Counter(vector.operation for vector in shared() if why_not_run(vector) is None)
    scenes = Counter(vector.operation for vector in shared() if scene_of(vector) is not None)
    rows = [[f"`{name}`", by_hand[name], computed[name] or "", run[name], scenes[name] or ""] for name in OPERATIONS]
    total = [sum(counter.values()) for counter in (by_hand, computed, run, scenes)]
    head = ["operation", "of Kafka's tests and code", "computed by Kafka's classes", "run", "of these scenes"]
    return _table(head, [*rows, ["all", *total]])


def left_out_table() -> str:
    left = [(vector, why) for vector in shared() if (why := why_not_run(vector)) is not None]
    return _table(["vector", "why it is not run"], [[f"`{vector.id}`", why] for vector, why in left])


def explained_table() -> str:
    """What does not hold of vectors."""
    rows = []
    for one in EXPLAINED:
        ids = [vector.id for vector in shared() if one.applies(vector) and vector.expected.get(one.key) == one.kafka]
        rows.append([one.what, f"`{one.key}`: {_shown(one.kafka)}, {_shown(one.ours)}", one.why, len(ids)])
    return _table(["vectors", "Kafka's, and ours", "why", "how many"], rows)


def _shown(value: object) -> str:
    return "nothing" if value is None else f"`{value}`"


def scenarios_table() -> str:
    records = shared_records()
    entries = [entry for record in records for entry in record.log]
    kinds = Counter(entry["step"][0] for entry in entries)
    rows = [
        ["scenarios", len(records)],
        ["steps", len(entries)],
        ["kinds of steps", ", ".join(f"`{kind}` {count}" for kind, count in sorted(kinds.items()))],
        [
            "states of partitions and topics that were written",
            sum(len(v) for e in entries for v in e["znodes"].values()),
        ],
        ["partitions in LeaderAndIsr and StopReplica", sum(len(got) for e in entries for got in e["got"].values())],
    ]
    return _table(["compared", "how many"], rows)


def explained_steps_table() -> str:
    rows = [
        [
            one.what,
            one.why,
            ", ".join(f"{name} from step {step}" for name, step in one.records.items()),
            f"`{one.mutant}`" if one.mutant else "",
        ]
        for one in EXPLAINED_STEPS
    ]
    return _table(["what", "why", "record", "mutant that does as Kafka"], rows)
