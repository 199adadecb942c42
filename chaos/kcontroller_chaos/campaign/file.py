"""Campaign files: TOML in, frozen values out. Nothing starts before the whole file is valid."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from kcontroller_chaos.campaign import keys
from kcontroller_chaos.campaign.actions import CreateTopic
from kcontroller_chaos.campaign.keys import Section
from kcontroller_chaos.campaign.toml_lines import Lines
from kcontroller_chaos.catalogue import Catalogue, load_catalogue
from kcontroller_chaos.catalogue.key import REQUIRED, Key, shown
from kcontroller_chaos.catalogue.kind import WrongKeyError
from kcontroller_chaos.catalogue.placement import EVENTS, FAULT_KEYS, POINTS, TARGETS, TRIGGERS
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.cluster.capabilities import CRASH_POINTS, Capability
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.kafka_config import find_wrong
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.model.topic_names import RULE, collide, why_no_topic_name
from pytest_kcontroller.runtime.rng import MOST_SEED

MOST_SEEDS = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """What the campaign is played on; times in milliseconds."""

    nodes: int
    zookeeper: int
    session_timeout_ms: int
    assignment: Any
    selectors: Mapping[str, Any]
    plugin_limit_s: float
    """Real time; all others are times of the run."""
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    name: str
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSpec:
    """One action at one time (seconds from the start)."""

    at_s: float
    does: CreateTopic


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpec:
    """One fault. Exactly one of `at_s` and `when` is set (both: from then on the crash point is counted), at most one of
    `duration_s` and `until`."""

    id: str
    fault: Fault
    """As it is injected."""
    target: str
    at_s: float | None
    when: str | None
    after_ms: float
    still_ms: float
    duration_s: float | None
    until: str | None
    if_possible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorSpec:
    """What is drawn; the keys of `[generator]`."""

    faults: tuple[str, ...]
    every_s: tuple[float, float]
    lasting_s: tuple[float, float]
    max_concurrent: int
    heal_before_end_s: float
    targets: tuple[str, ...]
    admin: tuple[str, ...]
    crash_points: float
    swarm: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """How much of what is planned must come about, so that a run can hold."""

    faults_applied: int = 1
    operations_ok: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A known failure; `until` is its last day, as ISO text."""

    invariant: str
    faults: tuple[str, ...]
    reason: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A valid campaign file; `sha256` is of its bytes."""

    name: str
    file: str
    sha256: str
    duration_s: float
    overtime_s: float
    seeds: tuple[int, ...]
    cluster: ClusterSpec
    topics: tuple[TopicSpec, ...] = ()
    workload: tuple[AdminSpec, ...] = ()
    faults: tuple[FaultSpec, ...] = field(default=())
    generator: GeneratorSpec | None = None
    thresholds: Thresholds = Thresholds()
    expected: tuple[Expected, ...] = ()
    text: str = field(default="", repr=False)
    """The file itself."""
    catalogue: Catalogue = field(repr=False, compare=False)
    """What it was checked against: the faults that it may name."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What of it can never come about, and is skipped."""
        named = ((fault, self.no_partition(fault.target)) for fault in self.faults)
        return tuple(f"{fault.id} ({fault.fault.kind}) is skipped: {why}" for fault, why in named if why is not None)

    @property
    def partitions(self) -> dict[str, int]:
        """Topic -> its number of partitions, of all that the file makes."""
        made = {spec.name: spec.partitions for spec in self.topics}
        return made | {spec.does.topic: spec.does.partitions for spec in self.workload}

    def no_partition(self, target: str) -> str | None:
        """Why nobody can ever be `leader-of:TOPIC-N`; None: somebody can, or it is another target."""
        name, _, partition = target.partition(":")
        if name != "leader-of":
            return None
        topic, _, number = partition.rpartition("-")
        if (count := self.partitions.get(topic)) is None:
            drawn = self.generator is not None and self.generator.admin and re.fullmatch(r"drawn-\d+", topic)
            return None if drawn else f"no topic of the file is called {topic!r}"
        return (
            None if int(number) < count else f"the topic {topic!r} has no partition {number}: it has {count}, from 0 on"
        )

    @property
    def fault_classes(self) -> tuple[type[Fault], ...]:
        """Of what it may do."""
        drawn = () if self.generator is None else self.generator.faults
        return (*(type(spec.fault) for spec in self.faults), *(self.catalogue.named(name) for name in drawn))

    @property
    def fault_names(self) -> frozenset[str]:
        """KIND and KIND:MODE of what it may do."""
        return frozenset(
            name for one in self.fault_classes for name in {one.kind, f"{one.kind}:{one.mode or ''}".rstrip(":")}
        )

    @property
    def crash_points(self) -> bool:
        """Whether it has some."""
        drawn = self.generator is not None and self.generator.crash_points > 0
        return drawn or any(is_crash_point(fault.when) for fault in self.faults)

    @property
    def needs(self) -> tuple[Capability[object], ...]:
        """What a backend must have so that this can be played, besides what every one has."""
        needed: list[Capability[object]] = [CRASH_POINTS] if self.crash_points else []
        for fault in self.fault_classes:
            needed += fault.needs
        return tuple(dict.fromkeys(needed))


def is_crash_point(trigger: str | None) -> bool:
    return trigger is not None and trigger.partition(":")[0] in POINTS


def load_campaign(path: Path, catalogue: Catalogue | None = None) -> Campaign:
    """Reads and checks a campaign file. It may name what is in the catalogue; None: what the stock and the installed plugins
    offer. Raises UsageError naming file, line and key."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")  # some editors put a mark before the first byte
    except OSError as bad:
        raise UsageError(f"cannot be read ({bad.strerror})", where=str(path)) from None
    except UnicodeDecodeError as bad:
        raise UsageError(f"is not UTF-8 (byte {bad.start})", where=str(path)) from None
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise UsageError("is nested too deeply", where=str(path), hint="a campaign has tables of values") from None
    except ValueError as bad:  # TOMLDecodeError, and a number of more digits than Python reads
        line = re.search(r"at line (\d+)", str(bad))
        where = f"{path}:{line[1] if line else max(1, len(text.splitlines()))}"
        raise UsageError(f"is no TOML: {bad}", where=where, hint="correct the line") from None
    reader = _Reader(str(path), Lines.of(text), catalogue or load_catalogue())
    return reader.campaign(table, hashlib.sha256(data).hexdigest(), text)


def parse_seeds(value: object) -> tuple[int, ...]:
    """`"1..50"`, `"3"`, `"1,4,7"` or a list of whole numbers. Raises ValueError."""
    if isinstance(value, list):
        if not value or not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in value):
            raise ValueError("a list of seeds has whole numbers, at least one")
        if wrong := [seed for seed in value if not 0 <= seed <= MOST_SEED]:
            raise ValueError(f"{shown(wrong[0])} is no seed: 0 to {MOST_SEED}")
        return tuple(dict.fromkeys(value))
    seeds: list[int] = []
    for part in str(value).split(","):
        found = re.fullmatch(r"\s*(\d{1,18})(?:\.\.(\d{1,18}))?\s*", part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise ValueError(f'{shown(value)} is not seeds: write "1..20", "3" or "1,4,7"')
        first, last = int(found[1]), int(found[2] or found[1])
        if len(seeds) + last - first >= MOST_SEEDS:
            raise ValueError(f"{value!r} is more than {MOST_SEEDS:,} seeds")
        seeds += range(first, last + 1)
    return tuple(dict.fromkeys(seeds))


class _Reader:
    def __init__(self, file: str, lines: Lines, catalogue: Catalogue) -> None:
        self._file, self._lines, self._catalogue = file, lines, catalogue

    def campaign(self, table: dict[str, Any], sha256: str, text: str) -> Campaign:
        known = {section.name: section for section in keys.sections(self._catalogue)}
        for name in table:
            if name not in known:
                self._fail(name, 0, "", f"there is no section `{name}`", nearest(name, known))
        rows = {name: self._rows(section, table.get(name)) for name, section in known.items()}
        head, cluster = rows["campaign"][0], ClusterSpec(**rows["cluster"][0])
        if not _NAME.fullmatch(head["name"]):
            self._fail("campaign", 0, "name", f"{head['name']!r} is no name", "letters, digits, hyphens")
        try:
            seeds = parse_seeds(head["seeds"])
        except ValueError as bad:
            self._fail("campaign", 0, "seeds", str(bad), "")
        if (wrong := find_wrong(cluster.config)) is not None:
            self._fail("cluster", 0, "config", wrong.what, wrong.hint, inner=wrong.name)
        for section in ("topics", "workload"):
            self._replication(section, rows[section], cluster.nodes)
        self._topic_names(rows["topics"], rows["workload"])
        self._thresholds(rows)
        campaign = Campaign(
            name=head["name"],
            file=self._file,
            sha256=sha256,
            duration_s=head["duration_s"],
            overtime_s=head["overtime_s"],
            seeds=seeds,
            cluster=cluster,
            topics=tuple(TopicSpec(**row) for row in rows["topics"]),
            workload=self._workload(rows["workload"], head["duration_s"]),
            faults=self._faults(rows["faults"], cluster, head["duration_s"]),
            generator=self._generator(rows["generator"], rows["topics"], head["duration_s"]),
            thresholds=Thresholds(**rows["thresholds"][0]),
            expected=tuple(
                Expected(**{**row, "faults": tuple(row["faults"]), "until": row["until"].isoformat()[:10]})
                for row in rows["expected"]
            ),
            text=text,
            catalogue=self._catalogue,
        )
        self._partitions(campaign)
        return campaign

    def _partitions(self, campaign: Campaign) -> None:
        """That there is somebody whom `leader-of:TOPIC-N` can mean; a fault that is skipped if not is a remark."""
        targets = [f"leader-of:{topic}-{n}" for topic, count in campaign.partitions.items() for n in range(count)]
        for index, fault in enumerate(campaign.faults):
            if not fault.if_possible and (why := campaign.no_partition(fault.target)) is not None:
                hint = nearest(fault.target, targets) if targets else "add [[topics]]"
                self._fail("faults", index, "target", why, hint)

    def _rows(self, section: Section, value: Any) -> list[dict[str, Any]]:
        if value is None and section.required:
            self._fail(section.name, 0, "", f"the section [{section.name}] is missing", "")
        if value is None:
            return [] if section.many or section.optional else [self._row(section, 0, {})]
        tables = value if section.many else [value]
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            title = f"[[{section.name}]]" if section.many else f"[{section.name}]"
            self._fail(section.name, 0, "", f"`{section.name}` is no table", f"write {title}")
        row = self._fault_row if section.name == "faults" else self._row
        return [row(section, index, table) for index, table in enumerate(tables)]

    def _fault_row(self, section: Section, index: int, table: dict[str, Any]) -> dict[str, Any]:
        """The keys that every fault has, and as `fault` what the others make: which they are, its kind says."""
        common = {key.name for key in FAULT_KEYS}
        kind, *rest = (key for key in section.keys if key.name in common)
        placed = replace(section, keys=(replace(kind, choices=()), *rest))
        row = self._row(placed, index, {name: value for name, value in table.items() if name in common})
        own = {name: value for name, value in table.items() if name not in common}
        if row["kind"] not in self._catalogue.kinds:
            hint = f"{nearest(row['kind'], self._catalogue.kinds)}; is a --plugin missing?"
            self._fail("faults", index, "kind", f"{row['kind']!r} is not known", hint)
        try:
            row["fault"] = self._catalogue.kinds[row.pop("kind")].fault(row.pop("mode"), own)
        except WrongKeyError as wrong:
            self._fail("faults", index, wrong.key, wrong.what, wrong.hint)
        return row

    def _row(self, section: Section, index: int, table: dict[str, Any]) -> dict[str, Any]:
        for name in table:
            if name not in section.names:
                self._fail(section.name, index, name, f"there is no key `{name}`", nearest(name, section.names))
        row: dict[str, Any] = {}
        for key in section.keys:
            if key.name in table:
                self._check(section.name, index, key, table[key.name])
            elif key.default is REQUIRED:
                self._fail(section.name, index, key.name, f"the key `{key.name}` is missing", key.help)
            row[key.name] = table.get(key.name, key.default)
        return row

    def _check(self, section: str, index: int, key: Key, value: Any) -> None:
        if found := key.wrong(value):
            self._fail(section, index, key.name, *found)

    def _generator(
        self, rows: list[dict[str, Any]], topics: list[dict[str, Any]], duration_s: float
    ) -> GeneratorSpec | None:
        if not rows:
            return None
        (row,) = rows
        for name in ("faults", "targets"):
            if not row[name]:
                self._fail("generator", 0, name, f"`{name}` is empty", "name at least one, or leave [generator] out")
        if "leader" in row["targets"] and not topics:
            if row["targets"] != list(keys.DRAWN_TARGETS):
                self._fail(
                    "generator", 0, "targets", "there is no partition whose leader could be drawn", "add [[topics]]"
                )
            row["targets"] = [target for target in row["targets"] if target != "leader"]
        if row["crash_points"] > 1:
            self._fail("generator", 0, "crash_points", f"{row['crash_points']} is more than 1", "a share: 0 to 1")
        if row["heal_before_end_s"] + row["lasting_s"][0] >= duration_s:
            what = f"in {duration_s:g} s no fault can be healed {row['heal_before_end_s']:g} s before the end"
            self._fail("generator", 0, "heal_before_end_s", what, "make the campaign longer, or this shorter")
        drawn: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        return GeneratorSpec(**drawn)

    def _thresholds(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """What the file can never reach; how much a generator draws nobody knows."""
        (least,), drawn = rows["thresholds"], rows["generator"][0] if rows["generator"] else {"faults": [], "admin": []}
        written = [row for row in rows["workload"] if row["kind"] != "none"]
        for key, what, planned, more in (
            ("faults_applied", "faults", rows["faults"], drawn["faults"]),
            ("operations_ok", "actions", written, drawn["admin"]),
        ):
            if not more and least[key] > max(1, len(planned)):
                said = f"{least[key]} is more than the {len(planned)} {what} of the file"
                self._fail("thresholds", 0, key, said, "no run could hold")

    def _replication(self, section: str, rows: list[dict[str, Any]], nodes: int) -> None:
        for index, row in enumerate(rows):
            if row["replication_factor"] > nodes:
                what = f"{row['replication_factor']} replicas do not fit on {nodes} nodes"
                self._fail(section, index, "replication_factor", what, "")

    def _topic_names(self, topics: list[dict[str, Any]], workload: list[dict[str, Any]]) -> None:
        """Kafka's rules, and no two `[[topics]]` of one name: what would end the run when it has begun is wrong in the file.
        A workload may ask for a topic that is there: that is refused, and told."""
        named = [("topics", index, "name", row["name"]) for index, row in enumerate(topics)]
        named += [("workload", index, "topic", row["topic"]) for index, row in enumerate(workload) if row["topic"]]
        for number, (section, index, key, name) in enumerate(named):
            if (why := why_no_topic_name(name)) is not None:
                self._fail(section, index, key, why, RULE)
            before = [other for *_, other in named[:number]]
            if name in before and section == "topics":
                self._fail(section, index, key, f"two topics are called {name!r}", "give one another name")
            if twin := next((other for other in before if collide(name, other)), None):
                what = f"{name!r} collides with {twin!r}: in Kafka's metrics `.` and `_` are one"
                self._fail(section, index, key, what, "give one another name")

    def _workload(self, rows: list[dict[str, Any]], duration_s: float) -> tuple[AdminSpec, ...]:
        actions = []
        for index, row in enumerate(rows):
            if row.pop("kind") == "none":
                continue
            for name in ("action", "at_s", "topic"):
                if row[name] is None:
                    self._fail("workload", index, name, f"the key `{name}` is missing", "")
            at_s = row.pop("at_s")
            self._in_time("workload", index, at_s, duration_s)
            del row["action"]  # there is one
            actions.append(AdminSpec(at_s=at_s, does=CreateTopic(**row)))
        return tuple(actions)

    def _faults(self, rows: list[dict[str, Any]], cluster: ClusterSpec, duration_s: float) -> tuple[FaultSpec, ...]:
        for index, row in enumerate(rows):
            row["id"] = f"fault-{index}" if row["id"] is None else row["id"]
            if not _NAME.fullmatch(row["id"]):
                self._fail("faults", index, "id", f"{row['id']!r} is no name", "letters, digits, hyphens")
            if row["id"] in [other["id"] for other in rows[:index]]:
                self._fail("faults", index, "id", f"two faults are called {row['id']!r}", "give one another id")
        ids = {row["id"]: row["fault"].kind for row in rows}
        return tuple(self._fault(index, row, ids, cluster, duration_s) for index, row in enumerate(rows))

    def _fault(
        self, index: int, row: dict[str, Any], ids: Mapping[str, str], cluster: ClusterSpec, duration_s: float
    ) -> FaultSpec:
        both = row["at_s"] is not None and row["when"] is not None
        if (row["at_s"] is None and row["when"] is None) or (both and not is_crash_point(row["when"])):
            self._fail("faults", index, "when", "a fault has either `at_s` or `when`", "")
        if row["duration_s"] is not None and row["until"] is not None:
            self._fail("faults", index, "until", "a fault has either `duration_s` or `until`", "")
        if row["at_s"] is not None:
            self._in_time("faults", index, row["at_s"], duration_s)
        for name in ("when", "until"):
            self._trigger(index, name, row, ids)
        self._target(index, row["target"], cluster)
        if row["still_ms"] and not is_crash_point(row["when"]):
            what = "only at a crash point does a node stand still"
            self._fail("faults", index, "still_ms", what, 'give it one (when = "write:1"), or leave still_ms out')
        if row["target"] == "any" and not is_crash_point(row["when"]):
            self._fail(
                "faults", index, "target", "`any` is for crash points: the node that comes to it first", "`random`"
            )
        return FaultSpec(**row)

    def _trigger(self, index: int, name: str, row: dict[str, Any], ids: Mapping[str, str]) -> None:
        if (trigger := row[name]) is None or trigger in EVENTS:
            return
        event, _, fault = trigger.partition(":")
        if event in POINTS and name == "when" and fault.isdigit() and int(fault) > 0:
            if row["after_ms"]:
                self._fail(
                    "faults", index, "after_ms", "a crash point is a moment, not a time after it", "leave it out"
                )
            if row["target"] == "others":
                self._fail("faults", index, "target", "a crash point is one node's, not that of others", "say `any`")
            return
        if event not in ("observed", "healed", "answered"):
            self._fail("faults", index, name, f"{trigger!r} is no trigger", nearest(trigger, TRIGGERS))
        if fault not in ids:
            self._fail("faults", index, name, f"no fault has the id {fault!r}", nearest(fault, ids))
        if fault == row["id"] and (name == "when" or event == "healed"):
            self._fail("faults", index, name, f"the fault {fault!r} waits for itself", "name another one")
        if event == "answered" and ids[fault] != "hold":
            self._fail("faults", index, name, f"{fault!r} is no hold: only a held write is answered", "")

    def _target(self, index: int, target: str, cluster: ClusterSpec) -> None:
        name, _, argument = target.partition(":")
        if target in TARGETS[:5]:
            return
        if name == "node" and argument.isdigit():
            if int(argument) >= cluster.nodes:
                self._fail("faults", index, "target", f"there is no node {argument}", f"0 to {cluster.nodes - 1}")
        elif not (name == "leader-of" and re.fullmatch(r".+-\d+", argument)):
            self._fail("faults", index, "target", f"{target!r} is no target", nearest(target, TARGETS))

    def _in_time(self, section: str, index: int, at_s: float, duration_s: float) -> None:
        if at_s > duration_s:
            self._fail(section, index, "at_s", f"{at_s:g} s is after the end ({duration_s:g} s)", "")

    def _fail(self, section: str, index: int, key: str, what: str, hint: str, *, inner: str = "") -> NoReturn:
        """`inner`: a key of the table that `key` is."""
        place = f"`{section}.{key}`" if key else f"`{section}`"
        where = f"{self._file}:{self._lines.find(section, index, key, inner)}: {place}"
        raise UsageError(what, where=where, hint=hint)
