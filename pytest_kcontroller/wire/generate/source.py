"""Fields as Python source: their types and defaults, and calls that break where ruff would break them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kcontroller.wire.generate.schema import NO_VERSIONS, NUMBERS, UUID, Field, MessageSchema

WIDTH = 120


def annotation(f: Field) -> str:
    name = _scalar(f.type.name)
    if f.type.array:
        name = f"list[{name}]" if f.type.is_struct or f.type.name == "string" else f"tuple[{name}, ...]"
    return name if f.nullable == NO_VERSIONS else f"{name} | None"


def _scalar(name: str) -> str:
    if name in NUMBERS:
        return {"bool": "bool", "float64": "float"}.get(name, "int")
    return {UUID: "bytes", "string": "str", "bytes": "bytes"}.get(name, name)


def may_be_left_out(f: Field, schema: MessageSchema) -> bool:
    """By the schema's default, or because there are versions without it."""
    return f.default is not None or not all(f.in_body(version) for version in schema.spoken)


def default_value(f: Field) -> str:
    """Source: the schema's default, else what Kafka's classes begin with."""
    kind = annotation(f).removesuffix(" | None")
    if f.default is None and f.type.array:
        return "[]" if kind.startswith("list") else "()"
    if f.default is None and f.type.name == UUID:
        return "bytes(16)"
    if f.default is None:
        return {"bool": "False", "float": "0.0", "int": "0", "str": '""', "bytes": 'b""'}[kind]
    if f.default == "null":
        return "None"
    if kind == "bool":
        return f.default.capitalize()
    if kind in ("int", "float"):
        return str(int(f.default, 0)) if kind == "int" else repr(float(f.default))
    return f'"{f.default}"'


def call(indent: int, function: str, args: Sequence[str], *, outer: str = "") -> list[str]:
    """`function(args)`, inside of `outer(...)`: in one line, or one argument a line."""
    before, after = (f"{outer}(", ")") if outer else ("", "")
    pad = " " * indent
    if len(line := f"{pad}{before}{function}({', '.join(args)}){after}") <= WIDTH:
        return [line]
    if not outer:
        return [f"{pad}{function}(", *(f"{pad}    {arg}," for arg in args), f"{pad})"]
    if len(line := f"{pad}    {function}({', '.join(args)})") <= WIDTH:
        return [f"{pad}{before}", line, f"{pad})"]
    return [f"{pad}{before}", *call(indent + 4, function, args), f"{pad})"]


def define(name: str, parameters: str, result: str) -> list[str]:
    """The head of a function."""
    if len(line := f"def {name}({parameters}) -> {result}:") <= WIDTH:
        return [line]
    return [f"def {name}(", *(f"    {each}," for each in parameters.split(", ")), f") -> {result}:"]
