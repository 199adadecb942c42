"""Request bodies as the real server reads them: by the rules of Go's encoding/json.

null is as good as absent, names of fields are alike in any case, what is unknown or stands behind the first value is not
looked at, and a value of another type is refused. Error texts are Go's, since clients show them.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

_FLOAT32 = struct.Struct("<f")  # "f" alone makes infinity of what is too large
INT64 = range(-(2**63), 2**63)
SYNTAX = (
    ("Expecting value", "looking for beginning of value"),
    ("Expecting property name", "looking for beginning of object key string"),
    ("Illegal trailing comma", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Invalid control character", "in string literal"),
    ("Invalid \\", "in string escape code"),
    ("Expecting ','", "after object key:value pair"),
)
"""What Python's decoder says, and Go's words for it."""


class BodyError(Exception):
    """The body cannot be read."""


@dataclass(frozen=True, slots=True)
class Number:
    """Its letters are kept: 1.0 is no whole number for Go."""

    literal: str


class Object(tuple[tuple[str, Any], ...]):
    """An object's fields in their order; a name may come twice."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Struct:
    """What an object is read into: names of fields and Go's types of them, `toxics.` for an object that is read later.

    `name` and `type` are for the error texts: of a field, and of the value as a whole.
    """

    name: str
    type: str
    fields: Mapping[str, str]


def parse(raw: bytes) -> Any:
    """The first value of a body: None, bool, str, Number, list or Object. Raises BodyError."""
    text = raw.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not text:
        raise BodyError("EOF")
    try:
        return _DECODER.raw_decode(text)[0]
    except json.JSONDecodeError as bad:
        raise BodyError(_syntax(bad)) from None
    except RecursionError:
        raise BodyError("exceeded max depth") from None


def _syntax(bad: json.JSONDecodeError) -> str:
    rest = bad.doc[bad.pos :]
    if (
        not rest
        or bad.msg.startswith("Unterminated")
        or any(word.startswith(rest) for word in ("true", "false", "null"))
    ):
        return "unexpected EOF"
    if bad.msg.startswith("Invalid \\"):
        rest = rest[1:]
    where = next((words for start, words in SYNTAX if bad.msg.startswith(start)), bad.msg)
    return f"invalid character {rest[0]!r} {where}"


def _no_number(word: str) -> NoReturn:
    raise json.JSONDecodeError("Expecting value", word, 0)


_DECODER = json.JSONDecoder(
    object_pairs_hook=Object, parse_int=Number, parse_float=Number, parse_constant=_no_number, strict=True
)


def read(value: object, target: Struct) -> dict[str, Any]:
    """What an object gives of the fields of `target`, by their names there. Raises BodyError."""
    if value is None:
        return {}
    if not isinstance(value, Object):
        raise wrong_type(value, target.type)
    given: dict[str, Any] = {}
    for key, part in value:
        name = key if key in target.fields else key.casefold()
        if name in target.fields and part is not None:
            converted = _convert(part, target.fields[name], f"{target.name}.{name}")
            given[name] = Object((*given.get(name, ()), *converted)) if isinstance(converted, Object) else converted
    return given


def wrong_type(value: object, wanted: str) -> BodyError:
    """Of a value as a whole."""
    return BodyError(f"json: cannot unmarshal {_kind(value)} into Go value of type {wanted}")


def _convert(value: object, kind: str, field: str) -> Any:
    if kind == "string" and isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # as Go, half a pair is U+FFFD
    if (kind == "bool" and isinstance(value, bool)) or (kind.startswith("toxics.") and isinstance(value, Object)):
        return value
    literal = ""
    if isinstance(value, Number) and kind in ("int", "int64", "float32"):
        number = float32(value.literal) if kind == "float32" else _whole(value.literal)
        if number is not None:
            return number
        literal = f" {value.literal}"
    raise BodyError(f"json: cannot unmarshal {_kind(value)}{literal} into Go struct field {field} of type {kind}")


def _whole(literal: str) -> int | None:
    return int(literal) if re.fullmatch(r"-?[0-9]{1,20}", literal) and int(literal) in INT64 else None


def float32(literal: str) -> float | None:
    """The shortest number that is the same one in 32 bits, which is what is told; None: it is too large."""
    number = float(literal)
    try:
        packed = _FLOAT32.pack(number)
    except OverflowError:
        return None
    if math.isinf(number):
        return None
    (exact,) = _FLOAT32.unpack(packed)
    shortest = (float(f"{exact:.{digits}g}") for digits in range(1, 9))
    return next((short for short in shortest if _FLOAT32.pack(short) == packed), exact)


def _kind(value: object) -> str:
    kinds = {str: "string", bool: "bool", Number: "number", list: "array", Object: "object"}
    return kinds[type(value)]
