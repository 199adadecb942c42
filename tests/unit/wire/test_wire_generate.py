"""The compiler: what is checked in is what it makes, other schemas than ours, and what it does not know."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.wire.codec import decode, encode, encode_once
from pytest_kcontroller.wire.errors import MalformedMessageError
from pytest_kcontroller.wire.generate.__main__ import MESSAGES
from pytest_kcontroller.wire.generate.modules import message_module, modules
from pytest_kcontroller.wire.generate.schema import MessageSchema, load_schemas, parse_schema
from tests.tools.wire_messages import KafkaPython, random_message

EVERYTHING: dict[str, Any] = {
    "apiKey": 999,
    "type": "response",
    "name": "EverythingResponse",
    "validVersions": "0-3",
    "flexibleVersions": "2+",
    "fields": [
        {"name": "Flag", "type": "bool", "versions": "0+"},
        {"name": "Tiny", "type": "int8", "versions": "0+", "default": "-1"},
        {"name": "Port", "type": "uint16", "versions": "0+"},
        {"name": "Big", "type": "int64", "versions": "0-2"},
        {"name": "Share", "type": "float64", "versions": "1+"},
        {"name": "Name", "type": "string", "versions": "0+"},
        {"name": "Id", "type": "uuid", "versions": "2+"},
        {"name": "Key", "type": "bytes", "versions": "0+"},
        {"name": "Records", "type": "bytes", "versions": "1+", "nullableVersions": "1+", "default": "null"},
        {"name": "Racks", "type": "[]string", "versions": "0+"},
        {"name": "Comment", "type": "string", "versions": "0+", "nullableVersions": "0+"},
        {"name": "Ports", "type": "[]uint16", "versions": "0+", "nullableVersions": "0+"},
        {"name": "Epochs", "type": "[]int64", "versions": "2+", "nullableVersions": "3+"},
        {"name": "Items", "type": "[]Item", "versions": "0+", "fields": [
            {"name": "Number", "type": "int32", "versions": "0+"},
            {"name": "Note", "type": "string", "versions": "3+", "nullableVersions": "3+"},
            {"name": "Parts", "type": "[]Part", "versions": "1+", "nullableVersions": "1+", "fields": [
                {"name": "Weight", "type": "int16", "versions": "1+"}
            ]},
            {"name": "Hint", "type": "string", "versions": "3+", "taggedVersions": "3+", "tag": 5}
        ]},
        {"name": "Extras", "type": "[]Extra", "versions": "3+", "taggedVersions": "3+", "tag": 0, "fields": [
            {"name": "Value", "type": "int32", "versions": "3+"}
        ]},
        {"name": "Numbers", "type": "[]int32", "versions": "3+", "taggedVersions": "3+", "tag": 1},
        {"name": "Cluster", "type": "string", "versions": "3+", "nullableVersions": "3+", "taggedVersions": "3+",
         "tag": 2, "default": "null"},
        {"name": "Ready", "type": "bool", "versions": "3+", "taggedVersions": "3+", "tag": 3, "default": "true"}
    ],
}  # fmt: skip
"""Every type and form that the compiler knows, in four layouts."""


@pytest.fixture
def everything() -> Iterator[Any]:
    """The class that is made of it."""
    module = types.ModuleType("everything_response")
    sys.modules[module.__name__] = module  # where dataclasses look types up
    try:
        exec(compile(message_module(parse_schema(EVERYTHING)), module.__name__, "exec"), module.__dict__)
        yield module.EverythingResponse
    finally:
        del sys.modules[module.__name__]


def test_no_module_is_left_of_a_schema_that_is_gone() -> None:
    """That each is what its schema says is a test of tests/meta."""
    assert sorted(path.name for path in MESSAGES.glob("*.py")) == sorted(modules(load_schemas()))


def test_every_type_and_form_has_the_bytes_of_another_codec(everything: Any) -> None:
    other = KafkaPython(EVERYTHING)
    for seed in range(60):
        message = random_message(everything, EVERYTHING, NamedRng(seed).stream("messages"))
        for version in everything.LAYOUTS:
            if version == 2 and message.epochs is None:
                continue  # only version 3 can say so
            body = encode(message, version)
            assert other.same_again(body, version) == body
            assert encode(decode(everything, body, version), version) == body
            with pytest.raises(MalformedMessageError):
                decode(everything, body[:-1], version)


def test_only_the_newest_version_splices(everything: Any) -> None:
    plain, spliced = (random_message(everything, EVERYTHING, NamedRng(4).stream("messages")) for _ in range(2))
    assert plain.items and plain == spliced
    for item in spliced.items:
        encode_once(item)
    for version in (0, 1, 3):
        assert encode(spliced, version) == encode(plain, version)


def test_what_a_version_lacks_has_its_default(everything: Any) -> None:
    message = random_message(everything, EVERYTHING, NamedRng(3).stream("messages"))
    oldest = decode(everything, encode(message, 0), 0)
    assert (oldest.share, oldest.id, oldest.records) == (0.0, bytes(16), None)
    assert (oldest.extras, oldest.numbers, oldest.cluster, oldest.ready) == ([], (), None, True)
    assert (oldest.flag, oldest.port, oldest.name) == (message.flag, message.port, message.name)


@pytest.mark.parametrize(
    ("field", "missing"),
    [
        ({"name": "One", "type": "Thing", "versions": "1", "fields": []}, "a struct that is not in an array"),
        ({"name": "Common", "type": "[]Shared", "versions": "1"}, "has no fields in place"),
        ({"name": "Money", "type": "decimal", "versions": "1"}, "the type decimal"),
        ({"name": "Ids", "type": "[]uuid", "versions": "1"}, "an array of uuid"),
    ],
)
def test_what_the_compiler_does_not_know_is_said(field: dict[str, Any], missing: str) -> None:
    content = {"apiKey": 1, "type": "request", "name": "XRequest", "validVersions": "1", "flexibleVersions": "1+"}
    with pytest.raises(UsageError, match=f"XRequest.{field['name'].lower()}: .*{missing}"):
        parse_schema(content | {"fields": [field]})


def schema_of(name: str, content: dict[str, Any] | None = None, *, api_key: int = 1) -> dict[str, Any]:
    kind = "request" if name.endswith("Request") else "response"
    head = {"apiKey": api_key, "type": kind, "name": name, "validVersions": "1", "flexibleVersions": "1+"}
    return {**head, "fields": [], **(content or {})}


def loaded(folder: Path, *contents: dict[str, Any]) -> tuple[MessageSchema, ...]:
    for content in contents:
        (folder / f"{content['name']}.json").write_text(f"// a comment\n{json.dumps(content)}", encoding="utf-8")
    return load_schemas(folder)


def test_two_files_are_an_api_with_a_row_in_the_table(tmp_path: Path) -> None:
    files = modules(loaded(tmp_path, schema_of("PingRequest"), schema_of("PingResponse")))
    assert sorted(files) == ["__init__.py", "ping_request.py", "ping_response.py"]
    assert "    PING = 1\n" in files["__init__.py"]
    assert "class PingRequest(Request[PingResponse]):" in files["ping_request.py"]


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ([schema_of("PingRequest")], "PingRequest has no counterpart"),
        ([schema_of("PingRequest"), schema_of("PongRequest")], "not the two messages of one API"),
        ([schema_of("PingRequest"), schema_of("PingResponse", {"validVersions": "2"})], "in the same versions"),
        ([schema_of("PingRequest"), schema_of("PongResponse", api_key=2)], "PingRequest and PongResponse"),
    ],
)
def test_half_an_api_is_refused(tmp_path: Path, contents: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        loaded(tmp_path, *contents)


def test_a_file_that_is_no_schema_is_named(tmp_path: Path) -> None:
    (tmp_path / "Bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"Bad\.json.*no JSON"):
        load_schemas(tmp_path)
    (tmp_path / "Bad.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"Bad\.json.*no schema of a message"):
        load_schemas(tmp_path)


def test_two_structs_of_one_name_are_refused(tmp_path: Path) -> None:
    field = {"name": "Items", "type": "[]Item", "versions": "1", "fields": []}
    with pytest.raises(UsageError, match="both have a struct Item"):
        modules(loaded(tmp_path, *(schema_of(name, {"fields": [field]}) for name in ("PingRequest", "PingResponse"))))
