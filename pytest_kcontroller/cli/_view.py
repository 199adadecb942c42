"""A PartitionView from JSON: what a selector is asked, written down by a person. Errors name the key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import NO_LEADER, Assignment
from pytest_kcontroller.model.election import BrokerTable, BrokerView, PartitionView
from pytest_kcontroller.model.suggestions import nearest

_ABSENT: Any = object()


def load_view(path: Path) -> PartitionView:
    """Reads and checks a view file (docs/cli.md). Raises UsageError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as bad:
        raise UsageError(f"cannot be read ({bad.strerror})", where=str(path)) from None
    except UnicodeDecodeError as bad:
        raise UsageError(f"is not UTF-8 (byte {bad.start})", where=str(path)) from None
    except json.JSONDecodeError as bad:
        raise UsageError(f"is no JSON: {bad.msg}", where=f"{path}:{bad.lineno}", hint="correct the line") from None
    except (ValueError, RecursionError) as bad:  # a number too long, brackets too deep
        raise UsageError(f"is no JSON: {bad}", where=str(path)) from None
    top = _Table(str(path), "", value)
    assignment = top.table("assignment")
    brokers = [_broker(broker) for broker in top.tables("brokers")]
    view = PartitionView(
        topic=top.take("topic", str, "topic"),
        partition=top.take("partition", int, 0, least=0),
        assignment=Assignment(assignment.ids("replicas"), assignment.ids("adding", ()), assignment.ids("removing", ())),
        leader=top.take("leader", int, NO_LEADER, least=NO_LEADER),
        isr=top.ids("isr"),
        leader_epoch=top.take("leader_epoch", int, 0, least=0),
        partition_epoch=top.take("partition_epoch", int, 0, least=0),
        controller_epoch=top.take("controller_epoch", int, 1, least=0),
        unclean_allowed=top.take("unclean_allowed", bool, False),
        brokers=BrokerTable(
            MappingProxyType({broker.id: broker for broker, _ in brokers}),
            MappingProxyType({broker.id: leaders for broker, leaders in brokers}),
        ),
    )
    assignment.no_more()
    top.no_more()
    ids = [broker.id for broker, _ in brokers]
    for number, broker in enumerate(ids):
        if broker in ids[:number]:
            top.fail(f"brokers[{number}].id", f"two brokers have the id {broker}", "give each broker once")
    return view


def _broker(table: _Table) -> tuple[BrokerView, int]:
    view = BrokerView(
        id=table.take("id", int, least=0),
        shutting_down=table.take("shutting_down", bool, False),
        rack=table.take("rack", str, None),
    )
    leaders = table.take("leaders", int, 0, least=0)
    table.no_more()
    return view, leaders


class _Table:
    """One JSON object; `at` is the path of keys that leads to it."""

    def __init__(self, file: str, at: str, value: object) -> None:
        self._file, self._at = file, at
        self._taken: list[str] = []
        if not isinstance(value, dict):
            self.fail("", f"{_shown(value)} is no object", "write { ... }")
        self._value: Mapping[str, Any] = value

    def take(self, key: str, kind: type, default: Any = _ABSENT, *, least: int | None = None) -> Any:
        value = self._get(key, default)
        if value is default:
            return value
        self._must(key, value, kind)
        if least is not None and value < least:
            self.fail(key, f"{value} is less than {least}", "")
        return value

    def ids(self, key: str, default: Any = _ABSENT) -> tuple[int, ...]:
        value = self._get(key, default)
        if not isinstance(value, list | tuple):
            self.fail(key, f"{_shown(value)} is no list of broker ids", "for example [0, 1, 2]")
        for number, broker in enumerate(value):
            self._must(f"{key}[{number}]", broker, int)
        return tuple(value)

    def table(self, key: str) -> _Table:
        return _Table(self._file, self._path(key), self._get(key, _ABSENT))

    def tables(self, key: str) -> list[_Table]:
        value = self._get(key, _ABSENT)
        if not isinstance(value, list):
            self.fail(key, f"{_shown(value)} is no list of brokers", 'for example [{"id": 0}, {"id": 1}]')
        return [_Table(self._file, self._path(f"{key}[{number}]"), each) for number, each in enumerate(value)]

    def no_more(self) -> None:
        """Every key has been asked for; another one is a mistake."""
        for key in self._value:
            if key not in self._taken:
                self.fail(key, "there is no such key", nearest(key, self._taken))

    def fail(self, key: str, what: str, hint: str) -> NoReturn:
        path = self._path(key) if key else self._at
        raise UsageError(what, where=f"{self._file}: `{path}`" if path else self._file, hint=hint)

    def _get(self, key: str, default: Any) -> Any:
        self._taken.append(key)
        value = self._value.get(key, default)
        if value is _ABSENT:
            self.fail(key, "the key is missing", "")
        return value

    def _must(self, key: str, value: object, kind: type) -> None:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            wanted = {int: "a whole number", str: "a text", bool: "true or false"}[kind]
            self.fail(key, f"{_shown(value)} is not {wanted}", "")

    def _path(self, key: str) -> str:
        return f"{self._at}.{key}" if self._at else key


def _shown(value: object) -> str:
    return json.dumps(value)
