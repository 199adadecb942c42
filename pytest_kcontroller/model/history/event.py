"""What all kinds of history events have in common: typed fields with a meaning, a rank, and the sentence a person reads.

A kind is a class below HistoryEvent, made with `@event`; its name is that of its kind in camel case (`leader.elected` is
LeaderElected). Whatever is said of it is said there: docs/formats.md is printed from these classes, emitters make them,
readers ask them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum, IntEnum
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform

from pytest_kcontroller.model.text import one_of_many, shown

TOPICS = "topics"
"""The field of a batch: topic -> columns of the same length, one per field of a partition."""
PARTITIONS_NAMED = 3
"""A sentence about a batch names so many of its partitions, and says how many more there are."""


class Writer(Enum):
    """Whose history has a kind; the files are `node-0.jsonl` (a restarted node: `node-0.2`), `engine`, `zookeeper`."""

    NODE = "node"
    ENGINE = "engine"
    ZOOKEEPER = "zookeeper"


class Rank(IntEnum):
    """How much an event says when there is no room for all: the smaller, the longer it stays."""

    DECISIVE = 1
    """Faults, controllers, sessions, the end of processes."""
    LEADERSHIP = 2
    """Who leads."""
    WRITE = 3
    """Other writes of znodes."""
    ANSWER = 4
    """That something was answered."""
    ROUTINE = 5
    """What is refused in everyday life."""
    UNTOLD = 6
    """Never told, but as a witness: there are too many, or they are for programs."""


@dataclass(frozen=True, slots=True)
class About:
    """What a field means, for docs/formats.md; `unit` of a number."""

    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Focus:
    """From where a reader looks: `nodes` (session -> node) gives sessions a name; `partition` and the znode `path` are named
    first where many are written at once."""

    nodes: Mapping[str, int]
    partition: str | None = None
    path: str | None = None

    def of_node(self, session: str) -> str:
        return f" of node {self.nodes[session]}" if session in self.nodes else ""


NOWHERE = Focus({})


class HistoryEvent:
    """One thing that happened. `kind`, the fields and their order are docs/formats.md."""

    __slots__ = ()
    kind: ClassVar[str]
    writer: ClassVar[Writer] = Writer.NODE
    rank: ClassVar[Rank] = Rank.DECISIVE
    text: ClassVar[str] = ""
    """The sentence, with fields in braces."""

    def fields(self) -> dict[str, object]:
        """As in the line of the file: JSON values in their order."""
        return {name: getattr(self, name) for name in names_of(type(self))}

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> HistoryEvent:
        """From a line of a file. What a damaged one lacks is a question mark."""
        return cls(**{name: line.get(name, default) for name, default in _DEFAULTS[cls].items()})

    def sentence(self, focus: Focus = NOWHERE) -> str:
        """In plain words. Names from the system under test stay as they are: whoever shows them escapes them."""
        return self.text.format_map(_Words(self.fields()))

    def concerns(self, partition: str) -> bool:
        """Whether it says something of this partition (TOPIC-NUMBER)."""
        return False

    def weight(self) -> Rank:
        """The rank of this one; a kind may have events of several."""
        return self.rank


def line_of(event: HistoryEvent, writer: str, seq: int, t_us: int) -> dict[str, Any]:
    """The line of a file: `seq` counts from 0 without gaps, `t_us` is the run time in microseconds."""
    return {"writer": writer, "seq": seq, "t_us": t_us, "kind": event.kind, **event.fields()}


_encoder = json.JSONEncoder(separators=(",", ":"), default=shown)


def encoded(line: Mapping[str, Any]) -> str:
    """With its end of line, in ASCII. An object of others that is no JSON value is what it says of itself."""
    return f"{_encoder.encode(line)}\n"


class Record(Protocol):
    """Appends one event to the history of one writer."""

    def __call__(self, event: HistoryEvent, /) -> None: ...


E = TypeVar("E", bound=type[HistoryEvent])
_KINDS: dict[str, type[HistoryEvent]] = {}
_NAMES: dict[type[HistoryEvent], tuple[str, ...]] = {}
_DEFAULTS: dict[type[HistoryEvent], dict[str, Any]] = {}
_NOT_THERE = "?"


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event(cls: E) -> E:
    """Makes a frozen dataclass with slots of a class and declares its kind. Raises ValueError: there is one of this name."""
    made: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    if made.kind in _KINDS:
        raise ValueError(f"the kind {made.kind!r} is declared twice: {_KINDS[made.kind].__name__}, {made.__name__}")
    _KINDS[made.kind] = made
    _NAMES[made] = tuple(field.name for field in fields(made))
    _DEFAULTS[made] = {field.name: _NOT_THERE if field.default is MISSING else field.default for field in fields(made)}
    return made  # type: ignore[no-any-return]


def names_of(kind: type[HistoryEvent]) -> tuple[str, ...]:
    """The fields of a kind, in their order."""
    return _NAMES[kind]


def kinds() -> tuple[type[HistoryEvent], ...]:
    """All that are declared, in the order of their declarations."""
    return tuple(_KINDS.values())


def declared(kind: str) -> type[HistoryEvent] | None:
    """The class of a kind; None: it is of a newer version."""
    return _KINDS.get(kind)


def parsed(line: Mapping[str, Any]) -> HistoryEvent | None:
    """A line of a file as a value; None: its kind is of a newer version."""
    kind = _KINDS.get(str(line["kind"]))
    return None if kind is None else kind.of(line)


# --- batches ----------------------------------------------------------------------------------------------------------

Columns = Mapping[str, Mapping[str, list[Any]]]
"""Topic -> name of a field -> its values; the values at one place are one partition's."""


class Batch(HistoryEvent):
    """One event for many partitions. The rest of its fields holds for all of them; a batch of one is a batch."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]]
    """What is said of each partition."""
    topics: Columns
    one: ClassVar[str] = ""
    """The sentence of a batch of one, with fields in braces, `tp` for the partition."""
    each: ClassVar[str] = "{tp}"
    """How one of several is named."""

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> HistoryEvent:
        """A line of a run before there were batches is a batch of one."""
        if TOPICS not in line and "topic" in line:
            columns = {name: [line[name]] for name in cls.columns if name in line}
            line = {**line, TOPICS: {line["topic"]: columns}}
        return super().of(line)

    def concerns(self, partition: str) -> bool:
        return any(f"{row.get('topic')}-{row.get('partition')}" == partition for row in rows({TOPICS: self.topics}))

    def sentence(self, focus: Focus = NOWHERE) -> str:
        words = [_Words(row) for row in rows(self.fields())]
        if not words:
            return f"{self.kind} of partitions that cannot be read"
        if len(words) == 1:
            return self.one.format_map(words[0])
        words.sort(key=lambda row: row["tp"] != focus.partition)
        named = [self.each.format_map(row) for row in words[:PARTITIONS_NAMED]]
        more = [f"{len(words) - PARTITIONS_NAMED} more"] if len(words) > PARTITIONS_NAMED else []
        shared = _Words({**self.fields(), "count": len(words)})
        return f"{self.text.format_map(shared)}: {', '.join([*named, *more])}"


class _Words(dict[str, Any]):
    """Fields for a sentence: values in words, `tp` for a partition; one that is not there is a question mark."""

    def __getitem__(self, name: str) -> str:
        if name == "tp":
            return f"{self['topic']}-{self['partition']}"
        return one_of_many(self.get(name, _NOT_THERE))


def by_topic(
    names: tuple[str, ...], partitions: Iterator[tuple[str, tuple[Any, ...]]]
) -> dict[str, dict[str, list[Any]]]:
    """The columns `names` of (topic, one partition's values in that order)."""
    topics: dict[str, list[tuple[Any, ...]]] = {}
    for topic, values in partitions:
        found = topics.get(topic)
        if found is None:
            topics[topic] = [values]
        else:
            found.append(values)
    return {
        topic: dict(zip(names, map(list, zip(*found, strict=True)), strict=True)) for topic, found in topics.items()
    }


def rows(line: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """One mapping per partition of a batch, with `topic` and all that holds for the batch; any other event is itself.

    What a damaged line has in place of columns is no partition; of columns of different lengths, those that are whole are.
    """
    topics = line.get(TOPICS)
    if not isinstance(topics, Mapping):
        yield line
        return
    shared = {name: value for name, value in line.items() if name != TOPICS}
    for topic, columns in topics.items():
        if not isinstance(columns, Mapping):
            continue
        lists = {name: column for name, column in columns.items() if isinstance(column, list)}
        for values in zip(*lists.values(), strict=False):
            yield {**shared, "topic": topic, **dict(zip(lists, values, strict=True))}
