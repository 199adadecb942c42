"""The keys of a campaign file, declared once: this table checks files, makes the JSON schema and the table in the docs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcontroller_chaos.faults import Fault, kinds
from kcontroller_chaos.invariants import invariants
from pytest_kcontroller.model.kafka_config import KAFKA_CONFIG

DAY_S = 86_400
MOST_NODES = 200
"""Each has an address of its own on loopback: 127.plane.source.target."""
LONGEST_SESSION_MS = 60_000
"""What ZooKeeper is set up to grant at most (cluster/zookeeper.py); of a longer one nobody would be told."""

REQUIRED: Any = object()
"""The default of a key that has none."""

TARGETS = ("controller", "new-controller", "others", "random", "any", "node:N", "leader-of:TOPIC-N")
POINTS = ("write", "written", "request")
"""Crash points, which only simulated time has (pytest_kcontroller/sim/crash_points.py): `write:3` is the third one."""
EVENTS = ("epoch.changed", "leader.elected")
TRIGGERS = ("observed:FAULT", "healed:FAULT", "answered:FAULT", *EVENTS, *(f"{point}:N" for point in POINTS))
ADMIN_ACTIONS = ("create_topic",)
DRAWN_TARGETS = ("controller", "leader", "random")
DRAWABLE_TARGETS = (*DRAWN_TARGETS, "others")
REASONS = ("offline", "reassigned", "preferred", "controlled_shutdown")


@dataclass(frozen=True, slots=True)
class Key:
    """`type` is a JSON schema type or one of: seeds, plugin, names, range, date. `choices`: the only values (of a table:
    keys)."""

    name: str
    type: str
    help: str
    default: Any = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One table, or with `many` an array of tables."""

    name: str
    help: str
    keys: tuple[Key, ...]
    many: bool = False
    required: bool = False
    optional: bool = False
    """Left out, it is not there, instead of having its defaults."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)


CAMPAIGN = Section(
    "campaign",
    "what is played",
    (
        Key("name", "string", "names the run directories: letters, digits, hyphens", REQUIRED),
        Key("duration_s", "number", "how long faults and workload go on", REQUIRED, "s", least=0.1, most=DAY_S),
        Key("seeds", "seeds", '"1..20" or a list of whole numbers; one run each', "1..1"),
    ),
    required=True,
)
CLUSTER = Section(
    "cluster",
    "what it is played on",
    (
        Key("nodes", "integer", "number of nodes, ids from 0", 3, least=1, most=MOST_NODES),
        Key("zookeeper", "integer", "number of ZooKeeper servers", 1, choices=("1",)),
        Key(
            "session_timeout_ms",
            "integer",
            "session time-out that nodes ask ZooKeeper for",
            3000,
            "ms",
            least=1,
            most=LONGEST_SESSION_MS,
        ),
        Key("assignment", "plugin", "assignment strategy, or {name = ..., options}", "striped"),
        Key("selectors", "object", "reason -> leader selector, or {name = ..., options}", {}, choices=REASONS),
        Key("config", "object", "Kafka's settings of the nodes: " + ", ".join(key.name for key in KAFKA_CONFIG), {}),
    ),
)
TOPICS = Section(
    "topics",
    "topics that exist before the run begins",
    (
        Key("name", "string", "name", REQUIRED),
        Key("partitions", "integer", "number of partitions", 1, least=1, most=10_000),
        Key("replication_factor", "integer", "replicas of each partition, at most the number of nodes", 1, least=1),
    ),
    many=True,
)
WORKLOAD = Section(
    "workload",
    "what is asked of the cluster meanwhile",
    (
        Key("kind", "string", "admin: one action at one time; none: nothing", REQUIRED, choices=("admin", "none")),
        Key("action", "string", "of admin: what to do", None, choices=ADMIN_ACTIONS),
        Key(
            "at_s",
            "number",
            "of admin: when, from the start of the run; the seed moves it a little",
            None,
            "s",
            least=0,
        ),
        Key("topic", "string", "of create_topic: its name", None),
        Key("partitions", "integer", "of create_topic: number of partitions", 1, least=1, most=10_000),
        Key("replication_factor", "integer", "of create_topic: replicas of each partition", 1, least=1),
        Key(
            "topic_id",
            "boolean",
            "of create_topic: false, as by a tool before Kafka 2.8, and the controller gives the topic its id",
            True,
        ),
    ),
    many=True,
)
FAULT_KEYS = (
    Key("kind", "string", "what is done", REQUIRED),
    Key("id", "string", "what other faults call it; default: fault-N, from 0 in the order of the file", None),
    Key("target", "string", "the node: " + ", ".join(TARGETS), "controller"),
    Key("mode", "string", "how, for kinds that have modes; default: the kind's first", None),
    Key("at_s", "number", "when, from the start of the run; the seed moves it a little", None, "s", least=0),
    Key(
        "when",
        "string",
        "instead of at_s, what it waits for: "
        + ", ".join(TRIGGERS)
        + "; a crash point (the last three: just before the "
        "node's N-th write leaves for ZooKeeper, just after its effect, before its N-th request leaves) counts from at_s",
        None,
    ),
    Key("after_ms", "number", "with when: so long after that", 0, "ms", least=0, most=DAY_S * 1000),
    Key(
        "still_ms",
        "number",
        "at a crash point: so long the node stands still after the injection",
        0,
        "ms",
        least=0,
        most=10_000,
    ),
    Key(
        "duration_s", "number", "until it is healed; default: as soon as it is observed", None, "s", least=0, most=DAY_S
    ),
    Key("until", "string", "instead of duration_s, what ends it (as when)", None),
    Key("if_possible", "boolean", "skipped, not a failed run, if its target or its moment is not there", False),
)

_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def parameters(kind: type[Fault]) -> tuple[Key, ...]:
    """The keys that the fields of a fault's declaration make."""
    return tuple(
        Key(
            field.name,
            _JSON_TYPES[str(field.type)],
            f"of {kind.kind}: {field.metadata.get('help', '')}",
            field.default,
            field.metadata.get("unit", ""),
            tuple(field.metadata.get("choices", ())),
            *((0, DAY_S * 1000) if str(field.type) in ("int", "float") else ()),
        )
        for field in dataclasses.fields(kind)
    )


def faults_section() -> Section:
    """The keys of all kinds; which of them a kind takes is checked by `campaign`."""
    known = kinds()
    kind, *rest = FAULT_KEYS
    every = {key.name: key for fault in known.values() for key in parameters(fault)}
    return Section(
        "faults",
        "what is done to it",
        (dataclasses.replace(kind, choices=tuple(known)), *rest, *every.values()),
        many=True,
    )


def fault_names() -> tuple[str, ...]:
    """KIND and KIND:MODE of all kinds."""
    return tuple(name for kind in kinds().values() for name in (kind.kind, *(f"{kind.kind}:{m}" for m in kind.modes)))


def generator_section() -> Section:
    return Section(
        "generator",
        "what is drawn from the seed besides; a drawn fault that is not possible at its moment is skipped",
        (
            Key("faults", "names", "kinds, or KIND:MODE", REQUIRED, choices=fault_names()),
            Key(
                "every_s",
                "range",
                "from one drawn action to the next, at least and at most",
                [1, 3],
                "s",
                least=0.01,
                most=DAY_S,
            ),
            Key(
                "lasting_s",
                "range",
                "how long a drawn fault lasts, at least and at most",
                [0.5, 3],
                "s",
                least=0,
                most=DAY_S,
            ),
            Key("max_concurrent", "integer", "so many drawn faults at once", 1, least=1, most=1000),
            Key("heal_before_end_s", "number", "all are healed so long before the end", 5, "s", least=0),
            Key(
                "targets",
                "names",
                "of faults; leader: of a drawn partition",
                list(DRAWN_TARGETS),
                choices=DRAWABLE_TARGETS,
            ),
            Key(
                "admin",
                "names",
                "drawn in between; a name that stands twice, here or in faults, is drawn twice as often",
                [],
                choices=ADMIN_ACTIONS,
            ),
            Key(
                "swarm",
                "boolean",
                "each seed uses only some of the faults and targets, so that combinations of a few come up; with `kill` in "
                "the list (`kill:sigterm` is another), half of the seeds have nodes that are down all the time",
                False,
            ),
            Key("crash_points", "number", "share of faults that strike at a drawn crash point (sim only)", 0, least=0),
        ),
        optional=True,
    )


def expected_section() -> Section:
    names = tuple(invariant.name for invariant in invariants())
    return Section(
        "expected",
        "failures that are known: reported, and no reason for a red exit status until their date",
        (
            Key(
                "invariant",
                "string",
                "the one that is violated",
                REQUIRED,
                choices=names,
            ),
            Key(
                "faults",
                "names",
                "only in runs where faults of all these kinds were applied",
                [],
                choices=tuple(kinds()),
            ),
            Key("reason", "string", "why it is known, such as the id of an issue", REQUIRED),
            Key("until", "date", "the last day on which it counts as known", REQUIRED),
        ),
        many=True,
    )


def sections() -> tuple[Section, ...]:
    """All sections, in the order of the docs."""
    return CAMPAIGN, CLUSTER, TOPICS, WORKLOAD, faults_section(), generator_section(), expected_section()


def json_schema() -> dict[str, Any]:
    """The schema that is published as campaign.schema.json (JSON Schema 2020-12)."""
    known = sections()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kcontroller campaign",
        "type": "object",
        "additionalProperties": False,
        "required": [section.name for section in known if section.required],
        "properties": {section.name: _section_schema(section) for section in known},
    }


def _section_schema(section: Section) -> dict[str, Any]:
    table: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _key_schema(key) for key in section.keys},
    }
    if required := [key.name for key in section.keys if key.default is REQUIRED]:
        table["required"] = required
    return {"type": "array", "items": table} if section.many else table


def _key_schema(key: Key) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": f"{key.help} ({key.unit})" if key.unit else key.help}
    if key.type == "seeds":
        schema["oneOf"] = [{"type": "string", "pattern": r"^\d+(\.\.\d+)?$"}, _array({"type": "integer"})]
    elif key.type == "plugin":
        schema["type"] = ["string", "object"]
    elif key.type == "names":
        schema |= {"type": "array", "items": {"enum": list(key.choices)}}
        return schema if key.default is REQUIRED else schema | {"default": key.default}
    elif key.type == "range":
        numbers = {"type": "number", "minimum": key.least or 0, "maximum": key.most}
        return schema | {"type": "array", "items": numbers, "minItems": 2, "maxItems": 2, "default": key.default}
    elif key.type == "date":
        schema |= {"type": "string", "format": "date"}
    else:
        schema["type"] = key.type
    if key.type == "object" and key.choices:
        schema |= {
            "additionalProperties": False,
            "properties": {name: {"type": ["string", "object"]} for name in key.choices},
        }
    elif key.choices:
        schema["enum"] = [int(choice) if key.type == "integer" else choice for choice in key.choices]
    if key.least is not None:
        schema["minimum"] = key.least
    if key.most is not None:
        schema["maximum"] = key.most
    if key.default is not REQUIRED and key.default is not None:
        schema["default"] = key.default
    return schema


def _array(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "minItems": 1, "uniqueItems": True}


def docs_table() -> str:
    """The key tables of docs/campaigns.md, in Markdown."""
    lines: list[str] = []
    for section in sections():
        title = f"[[{section.name}]]" if section.many else f"[{section.name}]"
        lines += [f"### `{title}`: {section.help}", "", "| key | type | default | what |", "|---|---|---|---|"]
        for key in section.keys:
            default = "required" if key.default is REQUIRED else "" if key.default is None else f"`{key.default}`"
            choices = f" (one of {', '.join(key.choices)})" if key.choices else ""
            kind = f"{key.type}, {key.unit}" if key.unit else key.type
            lines.append(f"| `{key.name}` | {kind} | {default} | {key.help}{choices} |")
        lines.append("")
    return "\n".join(lines)
