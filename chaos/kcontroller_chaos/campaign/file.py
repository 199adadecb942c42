"""Campaign files: TOML in, frozen values out. Nothing starts before the whole file is valid."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from kcontroller_chaos.admin import ACTIONS
from kcontroller_chaos.campaign import keys
from kcontroller_chaos.campaign.choices import wrong_choice
from kcontroller_chaos.campaign.keys import Section
from kcontroller_chaos.campaign.seeds import parse_seeds
from kcontroller_chaos.campaign.servers import too_few_servers
from kcontroller_chaos.campaign.specs import (
    AdminSpec,
    ClusterSpec,
    Expected,
    FaultSpec,
    GeneratorSpec,
    Thresholds,
    TopicSpec,
)
from kcontroller_chaos.campaign.systems import kinds_for, unfit
from kcontroller_chaos.campaign.targets import no_target
from kcontroller_chaos.campaign.toml_lines import Lines
from kcontroller_chaos.campaign.topics import wrong_topic_name
from kcontroller_chaos.campaign.waiting import waits_in_a_ring
from kcontroller_chaos.catalogue import Catalogue, load_catalogue
from kcontroller_chaos.catalogue.actions import action_of
from kcontroller_chaos.catalogue.invariants import invariants_of
from kcontroller_chaos.catalogue.key import REQUIRED, Key
from kcontroller_chaos.catalogue.kind import WrongKeyError
from kcontroller_chaos.catalogue.observable import wrong_at
from kcontroller_chaos.catalogue.placement import EVENTS, FAULT_KEYS, POINTS, TRIGGERS
from kcontroller_chaos.catalogue.zookeeper import default_target, wrong_target
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import Placement
from kcontroller_chaos.invariants import Invariant
from kcontroller_chaos.znode_invariants import ZnodeInvariant
from pytest_kcontroller.cluster.capabilities import CRASH_POINTS, ZOOKEEPERS, Capability
from pytest_kcontroller.cluster.program import Program, WrongProgramError, program_of
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.kafka_config import find_wrong
from pytest_kcontroller.model.suggestions import nearest
from pytest_kcontroller.model.text import whole_number

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LONGEST_NAME = 200
"""A file system takes 255 bytes."""


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
    program: Program | None = None
    """What its nodes are: `[system]`; None: nodes of ours."""
    topics: tuple[TopicSpec, ...] = ()
    workload: tuple[AdminSpec, ...] = ()
    faults: tuple[FaultSpec, ...] = field(default=())
    generator: GeneratorSpec | None = None
    own_invariants: tuple[ZnodeInvariant, ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)
    expected: tuple[Expected, ...] = ()
    text: str = field(default="", repr=False)
    """The file itself."""
    catalogue: Catalogue = field(repr=False, compare=False)
    """What it was checked against: the faults that it may name."""

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """Those that plugins offer, and those of the file."""
        return (*self.catalogue.invariants, *self.own_invariants)

    @property
    def awaited(self) -> tuple[ZnodeInvariant, ...]:
        """What a run gives time to come about in the end."""
        return tuple(one for one in self.invariants if isinstance(one, ZnodeInvariant))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What of it can never come about, and is skipped."""
        named = ((fault, self.no_partition(fault.target)) for fault in self.faults)
        return tuple(f"{fault.id} ({fault.fault.kind}) is skipped: {why}" for fault, why in named if why is not None)

    @property
    def partitions(self) -> dict[str, int]:
        """Topic -> its number of partitions, of all that the file makes, whether it deletes them again or not."""
        made = {spec.name: spec.partitions for spec in self.topics}
        for spec in self.workload:
            made |= spec.does.topics_after(made)
        return made

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
        needed += [ZOOKEEPERS] if self.cluster.zookeeper > 1 else []
        drawn = () if self.generator is None else self.generator.admin
        for made in (*self.fault_classes, *(type(spec.does) for spec in self.workload), *map(ACTIONS.get, drawn)):
            needed += () if made is None else made.needs
        return tuple(dict.fromkeys(needed))


def is_crash_point(trigger: str | None) -> bool:
    return trigger is not None and trigger.partition(":")[0] in POINTS


def load_campaign(path: Path, catalogue: Catalogue | None = None, *, directory: str = "") -> Campaign:
    """Reads and checks a campaign file. It may name what is in the catalogue; None: what the stock and the installed plugins
    offer. `directory`: where a program of the file is started, whatever the file says. Raises UsageError naming file, line
    and key."""
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
    reader = _Reader(str(path), Lines.of(text), catalogue or load_catalogue(), directory)
    return reader.campaign(table, hashlib.sha256(data).hexdigest(), text)


class _Reader:
    def __init__(self, file: str, lines: Lines, catalogue: Catalogue, directory: str) -> None:
        self._file, self._lines, self._catalogue, self._directory = file, lines, catalogue, directory

    def campaign(self, table: dict[str, Any], sha256: str, text: str) -> Campaign:
        self._kinds, self._programs = kinds_for(table, self._catalogue), "system" in table
        known = {section.name: section for section in keys.sections(self._catalogue)}
        for name in table:
            if name not in known:
                missing = "" if "campaign" in table else ", and [campaign] is missing: is this a campaign file?"
                self._fail(name, 0, "", f"there is no section `{name}`{missing}", nearest(name, known))
        rows = {name: self._rows(section, table.get(name)) for name, section in known.items()}
        head, cluster = rows["campaign"][0], ClusterSpec(**rows["cluster"][0])
        if not _NAME.fullmatch(head["name"]):
            self._fail("campaign", 0, "name", f"{head['name']!r} is no name", "letters, digits, hyphens")
        if len(head["name"]) > LONGEST_NAME:
            what = f"{len(head['name'])} letters are too many for the name of a directory"
            self._fail("campaign", 0, "name", what, f"{LONGEST_NAME} at most")
        try:
            seeds = parse_seeds(head["seeds"])
        except ValueError as bad:
            self._fail("campaign", 0, "seeds", str(bad), "")
        if (wrong := find_wrong(cluster.config)) is not None:
            self._fail("cluster", 0, "config", wrong.what, wrong.hint, inner=wrong.name)
        if choice := wrong_choice(cluster, self._catalogue):
            self._fail("cluster", 0, *choice[:3], inner=choice[3])
        self._replication(rows["topics"], cluster.nodes)
        nodes = cluster.nodes + sum(row["does"].nodes_added for row in rows["workload"] if row["does"] is not None)
        self._possible(rows["workload"], nodes)
        if wrong_name := wrong_topic_name(rows["topics"], rows["workload"]):
            self._fail(*wrong_name)
        self._thresholds(rows)
        self._taken_ids(rows)
        own = self._own_invariants(rows["invariants"])
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
            faults=self._faults(rows["faults"], head["duration_s"], cluster.placement(nodes)),
            generator=self._generator(rows["generator"], rows["topics"], head["duration_s"]),
            thresholds=Thresholds(**rows["thresholds"][0]),
            own_invariants=own,
            expected=self._expected(rows["expected"], [one.name for one in (*self._catalogue.invariants, *own)]),
            text=text,
            catalogue=self._catalogue,
        )
        self._partitions(campaign)
        if few := too_few_servers(cluster.zookeeper, campaign.faults, campaign.generator, self._catalogue):
            self._fail(*few)
        return self._with_program(campaign, rows["system"], table)

    def _with_program(self, campaign: Campaign, rows: list[dict[str, Any]], table: dict[str, Any]) -> Campaign:
        if not rows:
            return campaign
        elsewhere: dict[str, Any] = {"directory": self._directory} if self._directory else {}
        try:
            program = program_of(**rows[0] | elsewhere, nodes=campaign.cluster.nodes)
        except WrongProgramError as wrong:
            self._fail("system", 0, wrong.key, wrong.what, wrong.hint)
        if misplaced := unfit(table, program, campaign.faults, campaign.generator, self._catalogue):
            self._fail(*misplaced)
        return replace(campaign, program=program)

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
        own = {"faults": self._fault_row, "workload": self._workload_row, "invariants": self._invariant_row}
        row = own.get(section.name, self._row)
        return [row(section, index, table) for index, table in enumerate(tables)]

    def _workload_row(self, section: Section, index: int, table: dict[str, Any]) -> dict[str, Any]:
        """The keys that every entry has, and as `does` the action that the others make; None: there is none."""
        common = [key.name for key in keys.WORKLOAD_KEYS]
        for name in table:
            if name not in section.names:
                self._fail(section.name, index, name, f"there is no key `{name}`", nearest(name, section.names))
        placed = replace(section, keys=keys.WORKLOAD_KEYS)
        row = self._row(placed, index, {name: value for name, value in table.items() if name in common})
        row["does"] = None
        if row.pop("kind") == "none":
            return row
        for name in common[1:]:
            if row[name] is None:
                self._fail("workload", index, name, f"the key `{name}` is missing", "")
        own = {name: value for name, value in table.items() if name not in common}
        try:
            row["does"] = action_of(row.pop("action"), own)
        except WrongKeyError as wrong:
            self._fail("workload", index, wrong.key, wrong.what, wrong.hint)
        return row

    def _invariant_row(self, section: Section, index: int, table: dict[str, Any]) -> dict[str, Any]:
        """As `made` what its keys make."""
        (kind, *_), own = section.keys, {name: value for name, value in table.items() if name != "kind"}
        if kind.name in table:
            self._check(section.name, index, kind, table[kind.name])
        else:
            self._fail(section.name, index, kind.name, f"the key `{kind.name}` is missing", nearest("", kind.choices))
        try:
            return {"made": invariants_of(table[kind.name], own)}
        except WrongKeyError as wrong:
            self._fail(section.name, index, wrong.key, wrong.what, wrong.hint)

    def _own_invariants(self, rows: list[dict[str, Any]]) -> tuple[ZnodeInvariant, ...]:
        found: dict[str, ZnodeInvariant] = {}
        for index, row in enumerate(rows):
            for one in row["made"]:
                if one.name in found:
                    self._fail("invariants", index, "", f"{one.name} is there twice", "leave one of them out")
                found[one.name] = one
        return tuple(found.values())

    def _expected(self, rows: list[dict[str, Any]], names: Sequence[str]) -> tuple[Expected, ...]:
        for index, row in enumerate(rows):
            if (name := row["invariant"]) not in names:
                self._fail("expected", index, "invariant", f"{name!r} is not known", nearest(name, names))
            if not row["reason"].strip():
                self._fail(
                    "expected", index, "reason", "the reason is empty", "why it is known, such as the id of an issue"
                )
        dated = ({**row, "faults": tuple(row["faults"]), "until": row["until"].isoformat()[:10]} for row in rows)
        return tuple(Expected(**row) for row in dated)

    def _fault_row(self, section: Section, index: int, table: dict[str, Any]) -> dict[str, Any]:
        """The keys that every fault has, and as `fault` what the others make: which they are, its kind says."""
        common = {key.name for key in FAULT_KEYS}
        kind, *rest = (key for key in section.keys if key.name in common)
        placed = replace(section, keys=(replace(kind, choices=()), *rest))
        row = self._row(placed, index, {name: value for name, value in table.items() if name in common})
        own = {name: value for name, value in table.items() if name not in common}
        if row["kind"] not in self._catalogue.kinds:
            hint = f"{nearest(row['kind'], self._kinds)}; is a --plugin missing?"
            self._fail("faults", index, "kind", f"{row['kind']!r} is not known", hint)
        try:
            row["fault"] = self._catalogue.kinds[row.pop("kind")].fault(row.pop("mode"), own)
        except WrongKeyError as wrong:
            self._fail("faults", index, wrong.key, wrong.what, wrong.hint)
        if "target" not in table:
            row["target"] = default_target(row["fault"])
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
        drawable = ("random",) if self._programs else keys.DRAWABLE_TARGETS
        for target in row["targets"]:
            if target not in keys.DRAWABLE_TARGETS and not target.startswith("owner-of:"):
                hint = nearest(target, (*drawable, "owner-of:/a/znode"), before=":")
                self._fail("generator", 0, "targets", f"{target!r} is not known", hint)
            if target.startswith("owner-of:") and (wrong := no_target(target, programs=self._programs)):
                self._fail("generator", 0, "targets", *wrong)
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
        drawn: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
        return GeneratorSpec(**drawn)

    def _thresholds(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """What the file can never reach; how much a generator draws nobody knows."""
        (least,), drawn = rows["thresholds"], rows["generator"][0] if rows["generator"] else {"faults": [], "admin": []}
        written = [row for row in rows["workload"] if row["does"] is not None]
        for key, what, planned, more in (
            ("faults_applied", "faults", rows["faults"], drawn["faults"]),
            ("operations_ok", "actions", written, drawn["admin"]),
            ("invariants_exercised", "`[[invariants]]`", rows["invariants"], []),
        ):
            if not more and least[key] > max(1, len(planned)):
                said = f"{least[key]} is more than the {len(planned)} {what} of the file"
                self._fail("thresholds", 0, key, said, "no run could hold")

    def _replication(self, rows: list[dict[str, Any]], nodes: int) -> None:
        for index, row in enumerate(rows):
            if row["replication_factor"] > nodes:
                what = f"{row['replication_factor']} replicas do not fit on {nodes} nodes"
                self._fail("topics", index, "replication_factor", what, "")

    def _possible(self, rows: list[dict[str, Any]], nodes: int) -> None:
        for index, row in enumerate(rows):
            if row["does"] is not None and (wrong := row["does"].wrong_on(nodes)) is not None:
                self._fail("workload", index, *wrong)

    def _workload(self, rows: list[dict[str, Any]], duration_s: float) -> tuple[AdminSpec, ...]:
        for index, row in enumerate(rows):
            if row["does"] is not None:
                self._in_time("workload", index, row["at_s"], duration_s)
        return tuple(AdminSpec(at_s=row["at_s"], does=row["does"]) for row in rows if row["does"] is not None)

    def _taken_ids(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        """What the other actions of a run are called (schedule.py, generator.py)."""
        for section, taken in (("workload", "admin"), ("generator", "drawn")):
            for index, row in enumerate(rows["faults"]):
                if rows[section] and re.fullmatch(rf"{taken}-[0-9]+", row["id"] or ""):
                    what = f"{row['id']!r} is what an action of `{section}` is called"
                    self._fail("faults", index, "id", what, "give it another id")

    def _faults(self, rows: list[dict[str, Any]], duration_s: float, at: Placement) -> tuple[FaultSpec, ...]:
        for index, row in enumerate(rows):
            row["id"] = f"fault-{index}" if row["id"] is None else row["id"]
            if not _NAME.fullmatch(row["id"]):
                self._fail("faults", index, "id", f"{row['id']!r} is no name", "letters, digits, hyphens")
            if row["id"] in [other["id"] for other in rows[:index]]:
                self._fail("faults", index, "id", f"two faults are called {row['id']!r}", "give one another id")
        ids = {row["id"]: row["fault"].kind for row in rows}
        specs = tuple(self._fault(index, row, ids, duration_s, at) for index, row in enumerate(rows))
        if ring := waits_in_a_ring(specs):
            self._fail("faults", *ring)
        return specs

    def _fault(
        self, index: int, row: dict[str, Any], ids: Mapping[str, str], duration_s: float, at: Placement
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
        self._target(index, row["fault"], row["target"], at.nodes)
        if row["still_ms"] and not is_crash_point(row["when"]):
            what = "only at a crash point does a node stand still"
            self._fail("faults", index, "still_ms", what, 'give it one (when = "write:1"), or leave still_ms out')
        if row["target"] == "any" and not is_crash_point(row["when"]):
            self._fail(
                "faults", index, "target", "`any` is for crash points: the node that comes to it first", "`random`"
            )
        self._observable(index, row, replace(at, still_ms=row["still_ms"], target=row["target"]))
        return FaultSpec(**row)

    def _observable(self, index: int, row: dict[str, Any], at: Placement) -> None:
        """A fault that must happen can be observed where it stands."""
        if not row["if_possible"] and (wrong := wrong_at(row["fault"], at)) is not None:
            self._fail("faults", index, *wrong)

    def _trigger(self, index: int, name: str, row: dict[str, Any], ids: Mapping[str, str]) -> None:
        if (trigger := row[name]) is None or trigger in EVENTS:
            return
        event, _, fault = trigger.partition(":")
        if event in POINTS and name == "when" and (whole_number(fault) or 0) > 0:
            if row["after_ms"]:
                self._fail("faults", index, "after_ms", "a crash point is a moment, not a time after it", "drop it")
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

    def _target(self, index: int, fault: Fault, target: str, nodes: int) -> None:
        name, _, argument = target.partition(":")
        wrong = wrong_target(fault, target) or no_target(target, programs=self._programs)
        if wrong is not None:
            self._fail("faults", index, "target", *wrong)
        if name == "node" and int(argument) >= nodes:
            self._fail("faults", index, "target", f"there is no node {argument}", f"0 to {nodes - 1}")

    def _in_time(self, section: str, index: int, at_s: float, duration_s: float) -> None:
        if at_s > duration_s:
            self._fail(section, index, "at_s", f"{at_s:g} s is after the end ({duration_s:g} s)", "")

    def _fail(self, section: str, index: int, key: str, what: str, hint: str, *, inner: str = "") -> NoReturn:
        """`inner`: a key of the table that `key` is."""
        place = f"`{section}.{key}`" if key else f"`{section}`"
        where = f"{self._file}:{self._lines.find(section, index, key, inner)}: {place}"
        raise UsageError(what, where=where, hint=hint)
