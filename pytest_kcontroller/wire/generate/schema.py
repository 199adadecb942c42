"""Schema files in the format of Kafka's message definitions, as values. Comments in them (// ...) are not read.

What the compiler does not do is refused here: UsageError names the file, the field and what is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_kcontroller.errors import UsageError

SCHEMAS = Path(__file__).parents[1] / "schemas"

NUMBERS: Mapping[str, str] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
}
"""Kafka's types of a fixed size, and their codes in the struct module."""
UUID = "uuid"
TEXTS = ("string", "bytes")
_NEWEST = 2**15 - 1


@dataclass(frozen=True, slots=True)
class Versions:
    """From `first` to `last`; none if that is less."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        if text == "none":
            return NO_VERSIONS
        first, dash, last = text.removesuffix("+").partition("-")
        return cls(int(first), int(last) if dash else _NEWEST if text.endswith("+") else int(first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


NO_VERSIONS = Versions(0, -1)


@dataclass(frozen=True, slots=True)
class Type:
    """`name` is a primitive's or a struct's; `array`: of many of them."""

    name: str
    array: bool = False

    @property
    def is_struct(self) -> bool:
        return self.name[0].isupper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """`name` in snake case. `default`: as the schema writes it, None if it says none."""

    name: str
    type: Type
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: str | None

    def in_body(self, version: int) -> bool:
        return version in self.versions and version not in self.tagged

    def in_tags(self, version: int) -> bool:
        return version in self.versions and version in self.tagged


@dataclass(frozen=True, slots=True)
class StructSchema:
    """A message's own fields, or those of a struct inside it."""

    name: str
    about: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class MessageSchema:
    """One file. `structs`: those inside come before those that hold them, the message itself is the last."""

    api_key: int
    is_request: bool
    name: str
    versions: Versions
    flexible: Versions
    structs: tuple[StructSchema, ...]

    @property
    def api_name(self) -> str:
        """LeaderAndIsr for a LeaderAndIsrRequest."""
        return self.name.removesuffix("Request" if self.is_request else "Response")

    @property
    def spoken(self) -> range:
        return range(self.versions.first, self.versions.last + 1)

    @cached_property
    def by_name(self) -> Mapping[str, StructSchema]:
        return {struct.name: struct for struct in self.structs}


def load_schemas(folder: Path = SCHEMAS) -> tuple[MessageSchema, ...]:
    """All files of `folder`, by API key, requests first. Raises UsageError."""
    schemas = sorted((load_schema(path) for path in folder.glob("*.json")), key=lambda s: (s.api_key, not s.is_request))
    for request, response in zip(schemas[::2], schemas[1::2], strict=False):
        pair = (request.is_request, response.is_request) == (True, False)
        if not pair or (request.api_key, request.versions) != (response.api_key, response.versions):
            raise UsageError(
                f"{request.name} and {response.name} are not the two messages of one API, in the same versions",
                where=str(folder),
                hint="an API is two files, a request and a response, with the same apiKey and validVersions",
            )
    if len(schemas) % 2:
        raise UsageError(f"{schemas[-1].name} has no counterpart", where=str(folder), hint="an API is two files")
    return tuple(schemas)


def load_schema(path: Path) -> MessageSchema:
    """Raises UsageError."""
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    try:
        content = json.loads(text)
    except ValueError as bad:
        raise UsageError(f"this is no JSON: {bad}", where=str(path)) from None
    try:
        return parse_schema(content)
    except UsageError as bad:
        raise UsageError(bad.what, where=str(path), hint=bad.hint) from None
    except (KeyError, TypeError, ValueError) as bad:
        raise UsageError(f"this is no schema of a message: {bad!r}", where=str(path)) from bad


def parse_schema(content: Mapping[str, Any]) -> MessageSchema:
    """Raises UsageError, KeyError, TypeError or ValueError."""
    schema = MessageSchema(
        api_key=int(content["apiKey"]),
        is_request={"request": True, "response": False}[content["type"]],
        name=content["name"],
        versions=Versions.parse(content["validVersions"]),
        flexible=Versions.parse(content["flexibleVersions"]),
        structs=tuple(_structs(content["name"], content)),
    )
    for struct in schema.structs:
        for field in struct.fields:
            _refuse_unknown(schema, struct, field)
    return schema


def _structs(name: str, content: Mapping[str, Any]) -> Iterator[StructSchema]:
    for inner in content["fields"]:
        if "fields" in inner:
            yield from _structs(inner["type"].removeprefix("[]"), inner)
    yield StructSchema(name, content.get("about", ""), tuple(_field(inner) for inner in content["fields"]))


def _field(content: Mapping[str, Any]) -> Field:
    text = content["type"]
    return Field(
        name=snake_case(content["name"]),
        type=Type(text.removeprefix("[]"), array=text.startswith("[]")),
        versions=Versions.parse(content["versions"]),
        nullable=Versions.parse(content.get("nullableVersions", "none")),
        tagged=Versions.parse(content.get("taggedVersions", "none")),
        tag=content.get("tag"),
        default=content.get("default"),
    )


def _refuse_unknown(schema: MessageSchema, struct: StructSchema, field: Field) -> None:
    kind = field.type
    missing = None
    if kind.is_struct and (not kind.array or kind.name not in schema.by_name):
        missing = "a struct that is not in an array, or has no fields in place"
    elif not kind.is_struct and kind.name not in (*NUMBERS, UUID, *TEXTS):
        missing = f"the type {kind.name}"
    elif kind.array and kind.name in (UUID, "bool", "bytes"):
        missing = f"an array of {kind.name}"
    if missing is not None:
        raise UsageError(
            f"{struct.name}.{field.name}: the compiler does not know {missing}",
            hint="teach it in wire/generate/ and wire/primitives.py, or speak other versions only",
        )


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
