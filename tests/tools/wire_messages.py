"""Messages of any content, and kafka-python's codec as a second opinion on their bytes."""

from __future__ import annotations

import re
import types
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

with warnings.catch_warnings():
    # Its loader calls importlib.resources.read_text, which Python 3.11 and 3.12 call deprecated (3.13 took that back).
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.api_header import ResponseClassRegistry
    from kafka.protocol.api_message import ApiMessage
    from kafka.protocol.metadata.api_versions import ApiVersionsRequest as OtherApiVersionsRequest
    from kafka.protocol.metadata.api_versions import ApiVersionsResponse as OtherApiVersionsResponse
    from kafka.protocol.schemas.fields.codecs import EncodeBuffer

from pytest_kcontroller.wire.generate.schema import NO_VERSIONS, Versions
from pytest_kcontroller.wire.topic_ids import topic_uuid

__all__ = ["KafkaPython", "OtherApiVersionsRequest", "OtherApiVersionsResponse", "from_json", "random_message", "whole"]

TEXTS = ("", "t", "orders.eu-1", "h\u00f6st\u20ac", "x" * 126, "x" * 127, "y" * 20_000)


def from_json(kind: Any, value: Mapping[str, Any]) -> Any:
    """A message of ours from Kafka's JSON form of it."""
    hints = get_type_hints(kind)
    return kind(**{snake_case(key): _value_of(hints[snake_case(key)], content) for key, content in value.items()})


def _value_of(hint: Any, content: Any) -> Any:
    if content is None:
        return None
    if isinstance(content, list):
        (item,) = (a for a in _flat_args(hint) if a is not Ellipsis)
        if is_dataclass(item):
            return [from_json(item, each) for each in content]
        return content if item is str else tuple(content)
    return topic_uuid(content) if hint is bytes else content


def snake_case(name: str) -> str:
    if name == "type":  # the one name that differs from Kafka's
        return "request_type"
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.replace("KRaft", "Kraft")).lower()


def whole(content: Mapping[str, Any]) -> dict[str, Any]:
    """A schema (JSON) in which each field has the fields of its struct in place: ours names a struct that two fields have
    in common only once."""
    known = dict(_named_fields(content))

    def filled(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [f | ({"fields": filled(known[name])} if (name := _bare(f)) in known else {}) for f in fields]

    return {**content, "fields": filled(content["fields"])}


def _named_fields(content: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for field in content["fields"]:
        if "fields" in field:
            yield _bare(field), field["fields"]
            yield from _named_fields(field)


def _bare(field: Mapping[str, Any]) -> str:
    return str(field["type"]).removeprefix("[]")


def random_message(kind: Any, content: Mapping[str, Any], draw: Any, version: int | None = None) -> Any:
    """A message or struct of the class `kind`, which the schema `content` (JSON, as of `whole`) describes. Fields that
    `version` has not are left out (None: there are none)."""
    fields = (f for f in content["fields"] if version is None or version in Versions.parse(f["versions"]))
    values = {snake_case(f["name"]): _random_value(f, kind, draw, version) for f in fields}
    return kind(**values)


def _random_value(field: Mapping[str, Any], kind: Any, draw: Any, version: int | None) -> Any:
    if _may_be_null(field, version) and draw.random() < 0.3:
        return None
    if "taggedVersions" in field and draw.random() < 0.5:
        return next(_default_of(f) for f in fields(kind) if f.name == snake_case(field["name"]))
    name = _bare(field)
    if not field["type"].startswith("[]"):
        return _random_scalar(name, draw)
    length = draw.choice((0, 1, 2, 3, 3, 20, 130 if "fields" not in field else 4))
    if "fields" in field:
        (hint,) = (a for a in _flat_args(get_type_hints(kind)[snake_case(field["name"])]) if isinstance(a, type))
        return [random_message(hint, field, draw, version) for _ in range(min(length, 4))]
    values = [_random_scalar(name, draw) for _ in range(length)]
    return values if name == "string" else tuple(values)


def _may_be_null(field: Mapping[str, Any], version: int | None) -> bool:
    nullable = Versions.parse(field.get("nullableVersions", "none"))
    return version in nullable if version is not None else nullable != NO_VERSIONS


def _flat_args(hint: Any) -> list[Any]:
    return (
        [hint]
        if not get_args(hint)
        else [each for arg in get_args(hint) for each in _flat_args(arg) if each is not type(None)]
    )


def _default_of(field: Any) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def _random_scalar(name: str, draw: Any) -> Any:
    if name == "bool":
        return draw.random() < 0.5
    if name in ("string", "bytes"):
        text = draw.choice(TEXTS)
        return text if name == "string" else text.encode()
    if name == "uuid":
        return draw.choice((bytes(16), draw.randbytes(16)))
    if name == "float64":
        return draw.uniform(-1e9, 1e9)
    bits = int(name.removeprefix("u").removeprefix("int"))
    first, last = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return draw.choice((first, -1 if first else 1, 0, 1, last, draw.randint(first, last)))


class KafkaPython:
    """kafka-python's codec for a schema (JSON), whose bodies it reads and writes."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        patch = classmethod(lambda _, __: content)  # in place of the schema that it has of that name
        # A class of a response becomes what its clients decode answers with, by a weak reference: not ours, which goes away.
        registered = ResponseClassRegistry._response_class_registry
        before = dict(registered)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self._kind: Any = types.new_class(
                "ApiVersionsRequest", (ApiMessage,), exec_body=lambda body: body.update(json_patch=patch)
            )
        registered.clear()
        registered.update(before)

    @staticmethod
    def class_of_response(api_key: int) -> str | None:
        """By which its clients read answers; None: they know none. Raises ReferenceError if it is gone."""
        kind: Any = ResponseClassRegistry._response_class_registry.get(api_key)
        return None if kind is None else f"{kind.__module__}.{kind.__qualname__}"

    def same_again(self, body: bytes, version: int) -> bytes:
        """Decodes and encodes `body`."""
        flexible, buffer = self._kind.flexible_version_q(version), EncodeBuffer(1024)
        layout = self._kind._struct
        read = layout.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=self._kind)
        message, end = read(body, 0)
        assert end == len(body)
        layout.compiled_encode_into(version, compact=flexible, tagged=flexible)(message, buffer)
        return bytes(buffer.result())
