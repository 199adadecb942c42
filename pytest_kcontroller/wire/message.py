"""What all messages have in common, those in `messages` and the structs inside them.

A message is a dataclass whose fields are those of its schema, in snake case. Arrays of numbers are tuples, arrays of structs
are lists, a uuid is its 16 bytes. A version that lacks a field leaves it out, and reading that version gives its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

Write = Callable[[bytes], None]


class Layout(NamedTuple):
    """How a struct is bytes in one version: `encode` gives them to `write` in pieces.

    `decode` reads from an offset on and returns the struct and the offset behind it. It raises MalformedMessageError,
    IndexError, struct.error or UnicodeDecodeError for bytes that are no such struct.
    """

    encode: Callable[[Any, Write], None]
    decode: Callable[[bytes, int], tuple[Any, int]]


class Struct:
    """Something with a layout in each version that is spoken."""

    __slots__ = ()
    LAYOUTS: ClassVar[Mapping[int, Layout]]


@dataclass(slots=True, kw_only=True)
class Entry(Struct):
    """A struct inside a message. `encoded`: its bytes in the newest version, if codec.encode_once made them."""

    encoded: bytes | None = field(default=None, init=False, repr=False, compare=False)


class Message(Struct):
    """A request or a response."""

    __slots__ = ()
    API_KEY: ClassVar[int]


class Response(Message):
    __slots__ = ()


R_co = TypeVar("R_co", bound=Response, covariant=True)


NEWEST = 2**15 - 1


@dataclass(slots=True, kw_only=True)
class Request(Message, Generic[R_co]):
    """A request that is answered by an `R_co`. `version`: in which it came; one that was not read is in the newest."""

    version: int = field(default=NEWEST, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Api:
    """One API: its messages and the versions that we speak. From version `flexible_from` on headers have tagged fields."""

    key: int
    name: str
    request: type[Request[Response]]
    response: type[Response]
    min_version: int
    max_version: int
    flexible_from: int
