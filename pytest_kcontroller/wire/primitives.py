"""Kafka's primitive types as bytes, for the layouts of messages.

Source: Kafka's protocol guide. A reader takes the bytes and an offset, and returns the value and the offset behind it. What
it raises is in message.Layout; no length is believed before the bytes are there.

Flexible versions (KIP-482) write lengths plus one as varints, 0 is null, and end each struct with tagged fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, TypeVar

from pytest_kcontroller.wire.errors import MalformedMessageError
from pytest_kcontroller.wire.message import Entry, Write

T = TypeVar("T")
E = TypeVar("E", bound=Entry)
Read = Callable[[bytes, int], tuple[T, int]]

NULL = b"\0"
NULL_STRING, NULL_LENGTH = b"\xff\xff", b"\xff\xff\xff\xff"
"""In versions that are not flexible: of a string; of bytes and arrays."""
NO_TAGS = b"\0"
_SHORT_VARINTS = tuple(bytes([n]) for n in range(0x80))
_VARINT_BITS = 35
"""Five bytes of seven bits: what a 32-bit number takes at most."""
_SHORT_ARRAY = 16
_ARRAYS = 16_384
"""So many different arrays are remembered, for each type of numbers and message."""
_LENGTH = Struct(">i")
_STRING_LENGTH = Struct(">h")


def varint(number: int) -> bytes:
    """An unsigned varint."""
    if number < 0x80:
        return _SHORT_VARINTS[number]
    octets = bytearray()
    while number >= 0x80:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    octets.append(number)
    return bytes(octets)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (octet := data[at]) & 0x80:
        value |= (octet & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if shift >= _VARINT_BITS:
            raise MalformedMessageError(f"a varint of more than 5 bytes at {at - 5}")
    return value | octet << shift, at + 1


def _read_length(data: bytes, at: int) -> tuple[int, int]:
    """A compact length, which is not null."""
    length, at = read_varint(data, at)
    if length == 0:
        raise MalformedMessageError(f"null at {at - 1}, where there must be a value")
    return length - 1, at


def _taken(data: bytes, at: int, length: int) -> bytes:
    if not 0 <= length <= len(data) - at:
        raise MalformedMessageError(f"{length} bytes announced at {at}, {len(data) - at} are left")
    return data[at : at + length]


def read_nullable(read: Read[T], data: bytes, at: int) -> tuple[T | None, int]:
    """Anything with a compact length, or null."""
    return (None, at + 1) if data[at] == 0 else read(data, at)


def required(value: T | None) -> T:
    """Raises ValueError for null, where this version of a message cannot say it."""
    if value is None:
        raise ValueError("null, in a version of a message that has none there")
    return value


def read_plain_nullable(null: bytes, read: Read[T], data: bytes, at: int) -> tuple[T | None, int]:
    """The same in versions that are not flexible, where the length -1 is null."""
    return (None, at + len(null)) if data.startswith(null, at) else read(data, at)


# --- strings and bytes


def string(text: str) -> bytes:
    octets = text.encode()
    return varint(len(octets) + 1) + octets


def read_string(data: bytes, at: int) -> tuple[str, int]:
    length, at = _read_length(data, at)
    return _taken(data, at, length).decode(), at + length


def octets(value: bytes) -> bytes:
    return varint(len(value) + 1) + value


def read_octets(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_length(data, at)
    return _taken(data, at, length), at + length


def plain_string(text: str) -> bytes:
    """As versions that are not flexible have it."""
    octets = text.encode()
    return _STRING_LENGTH.pack(len(octets)) + octets


def read_plain_string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _STRING_LENGTH.unpack_from(data, at)
    at += _STRING_LENGTH.size
    return _taken(data, at, length).decode(), at + length


def plain_octets(value: bytes) -> bytes:
    return _LENGTH.pack(len(value)) + value


def read_plain_octets(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = _LENGTH.unpack_from(data, at)
    at += _LENGTH.size
    return _taken(data, at, length), at + length


# --- arrays


class Numbers:
    """Arrays of numbers of one type, which are packed at once. `code` is that of the struct module; `plain`: as versions
    have it that are not flexible.

    Tuples: the same few lists of replicas are many partitions' own, so the bytes of an array are remembered.
    """

    def __init__(self, code: str) -> None:
        self._code, self._size = code, Struct(f">{code}").size
        self._pack = tuple(Struct(f">B{n}{code}").pack for n in range(_SHORT_ARRAY))
        self._unpack = tuple(Struct(f">{n}{code}").unpack_from for n in range(_SHORT_ARRAY))
        self.encode = lru_cache(maxsize=_ARRAYS)(self._encode)
        self.plain_encode = lru_cache(maxsize=_ARRAYS)(self._plain_encode)

    def _encode(self, numbers: tuple[Any, ...]) -> bytes:
        if (length := len(numbers)) < _SHORT_ARRAY:
            return self._pack[length](length + 1, *numbers)
        return varint(length + 1) + Struct(f">{length}{self._code}").pack(*numbers)

    def read(self, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        length = data[at] - 1
        if 0 <= length < _SHORT_ARRAY:
            return self._unpack[length](data, at + 1), at + 1 + length * self._size
        length, at = _read_length(data, at)
        return self._unpacked(length, data, at)

    def _plain_encode(self, numbers: tuple[Any, ...]) -> bytes:
        return Struct(f">i{len(numbers)}{self._code}").pack(len(numbers), *numbers)

    def plain_read(self, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        (length,) = _LENGTH.unpack_from(data, at)
        return self._unpacked(length, data, at + _LENGTH.size)

    def _unpacked(self, length: int, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        octets = _taken(data, at, length * self._size)
        return Struct(f">{length}{self._code}").unpack(octets), at + len(octets)


def write_array(items: Sequence[E], encode: Callable[[E, Write], None], write: Write) -> None:
    """Structs in the newest version: the bytes of those that were encoded beforehand are used."""
    write(varint(len(items) + 1))
    for item in items:
        if item.encoded is None:
            encode(item, write)
        else:
            write(item.encoded)


def write_older_array(items: Sequence[E], encode: Callable[[E, Write], None], write: Write) -> None:
    """Structs in any other flexible version."""
    write(varint(len(items) + 1))
    for item in items:
        encode(item, write)


def write_plain_array(items: Sequence[E], encode: Callable[[E, Write], None], write: Write) -> None:
    """Structs in a version that is not flexible."""
    write(_LENGTH.pack(len(items)))
    for item in items:
        encode(item, write)


def strings(values: Sequence[str]) -> bytes:
    return b"".join((varint(len(values) + 1), *map(string, values)))


def plain_strings(values: Sequence[str]) -> bytes:
    return b"".join((_LENGTH.pack(len(values)), *map(plain_string, values)))


def read_array(read: Read[T], data: bytes, at: int) -> tuple[list[T], int]:
    length, at = _read_length(data, at)
    return _read_items(read, data, at, length)


def read_plain_array(read: Read[T], data: bytes, at: int) -> tuple[list[T], int]:
    (length,) = _LENGTH.unpack_from(data, at)
    return _read_items(read, data, at + _LENGTH.size, length)


def _read_items(read: Read[T], data: bytes, at: int, length: int) -> tuple[list[T], int]:
    if not 0 <= length <= len(data) - at:  # each takes a byte at least
        raise MalformedMessageError(f"{length} structs announced at {at}, {len(data) - at} bytes are left")
    items: list[T] = []
    for _ in range(length):
        item, at = read(data, at)
        items.append(item)
    return items, at


# --- tagged fields


def tagged_fields(fields: Mapping[int, bytes]) -> bytes:
    """By tag, in ascending order."""
    parts = [varint(len(fields))]
    for tag, value in fields.items():
        parts += (varint(tag), varint(len(value)), value)
    return b"".join(parts)


def read_tagged_fields(data: bytes, at: int) -> tuple[dict[int, bytes], int]:
    fields: dict[int, bytes] = {}
    count, at = read_varint(data, at)
    for _ in range(count):
        tag, at = read_varint(data, at)
        length, at = read_varint(data, at)
        fields[tag] = _taken(data, at, length)
        at += length
    return fields, at


def skip_tagged_fields(data: bytes, at: int) -> int:
    """The offset behind them, where none is known."""
    return read_tagged_fields(data, at)[1]


def joined(write_all: Callable[[Write], None]) -> bytes:
    """What `write_all` writes, as one."""
    parts: list[bytes] = []
    write_all(parts.append)
    return b"".join(parts)
