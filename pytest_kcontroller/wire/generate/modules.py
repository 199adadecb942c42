"""Whole modules from schemas: one for each message, and the package's sign with the table of APIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.wire.generate.layout import Group, Names, decoder, encoder, groups, structs_of
from pytest_kcontroller.wire.generate.schema import MessageSchema, StructSchema, snake_case
from pytest_kcontroller.wire.generate.source import annotation, default_value, may_be_left_out

PACKAGE = "pytest_kcontroller.wire.messages"
_HEAD = "# Generated from wire/schemas by `make generated`: edit those."


def modules(schemas: Sequence[MessageSchema]) -> dict[str, str]:
    """File name -> source. Raises UsageError if two structs have one name."""
    owners: dict[str, str] = {}
    for schema in schemas:
        for struct in schema.structs:
            if (other := owners.setdefault(struct.name, schema.name)) != schema.name:
                raise UsageError(
                    f"{schema.name} and {other} both have a struct {struct.name}",
                    hint="give one of them another name: names do not cross the wire",
                )
    files = {f"{snake_case(schema.name)}.py": message_module(schema) for schema in schemas}
    return {"__init__.py": package_module(schemas)} | files


def message_module(schema: MessageSchema) -> str:
    names, found = Names(), groups(schema)
    functions = [list(lines) for group in found for lines in _functions(group, names)]
    classes = [list(_class(schema, struct)) for struct in schema.structs]
    head = [_HEAD, f'"""{schema.name} of API {schema.api_key}."""', "", "from __future__ import annotations", ""]
    head += [*_imports(schema, names), *_constants(names)]
    return _joined([head, *classes, *functions, _layouts(schema, found)])


def _joined(blocks: Iterable[Sequence[str]]) -> str:
    return "\n\n\n".join("\n".join(block).strip("\n") for block in blocks) + "\n"


def _functions(group: Group, names: Names) -> Iterator[list[str]]:
    for struct in group.own():
        yield encoder(group, struct, names)
        yield decoder(group, struct, names)


def _imports(schema: MessageSchema, names: Names) -> Iterator[str]:
    fields = [f for struct in schema.structs for f in struct.fields]
    if any(default_value(f) == "[]" and may_be_left_out(f, schema) for f in fields):
        yield "from dataclasses import dataclass, field"
    else:
        yield "from dataclasses import dataclass"
    if names.formats:
        yield "from struct import Struct"
    yield ""
    base = "Request" if schema.is_request else "Response"
    used = [base, "Layout", *(["Entry"] if len(schema.structs) > 1 else []), "Write"]
    yield f"from pytest_kcontroller.wire.message import {', '.join(sorted(used))}"
    if schema.is_request:
        yield f"from {PACKAGE}.{snake_case(schema.api_name)}_response import {schema.api_name}Response"
    primitives = [*names.primitives, *(["Numbers"] if names.numbers else [])]
    if primitives:
        yield from _import(f"{PACKAGE.rpartition('.')[0]}.primitives", primitives)


def _import(module: str, names: Iterable[str]) -> Iterator[str]:
    ordered = sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name.lower()))
    if len(line := f"from {module} import {', '.join(ordered)}") <= 120:
        yield line
        return
    yield f"from {module} import ("
    yield from (f"    {name}," for name in ordered)
    yield ")"


def _constants(names: Names) -> Iterator[str]:
    if names.formats or names.numbers:
        yield ""
    yield from (f'{name} = Struct("{codes}")' for name, codes in sorted(names.formats.items()))
    yield from (f'{name} = Numbers("{code}")' for name, code in sorted(names.numbers.items()))


def _class(schema: MessageSchema, struct: StructSchema) -> Iterator[str]:
    message = struct.name == schema.name
    base = f"Request[{schema.api_name}Response]" if schema.is_request else "Response"
    yield "@dataclass(slots=True, kw_only=True)"
    yield f"class {struct.name}({base if message else 'Entry'}):"
    yield from (f'    """{struct.about}"""', "") if struct.about else ()
    if message:
        yield f"    API_KEY = {schema.api_key}"
    for f in struct.fields:
        default = default_value(f)
        if not may_be_left_out(f, schema):
            yield f"    {f.name}: {annotation(f)}"
        elif default == "[]":
            yield f"    {f.name}: {annotation(f)} = field(default_factory=list)"
        else:
            yield f"    {f.name}: {annotation(f)} = {default}"


def _layouts(schema: MessageSchema, found: Sequence[Group]) -> list[str]:
    lines: list[str] = []
    for struct in schema.structs:
        lines.append(f"{struct.name}.LAYOUTS = {{")
        for group in found:
            if struct in structs_of(group):
                layout = f"Layout({group.function('encode', struct.name)}, {group.function('decode', struct.name)})"
                lines += [f"    {version}: {layout}," for version in group.versions]
        lines.append("}")
    return lines


def package_module(schemas: Sequence[MessageSchema]) -> str:
    lines = [_HEAD, '"""The messages that we speak, and the table of their APIs."""']
    lines += ["", "from __future__ import annotations", "", "from collections.abc import Mapping"]
    lines += ["from enum import IntEnum", "", "from pytest_kcontroller.wire.message import Api"]
    exported: list[str] = ["APIS", "ApiKey"]
    for schema in sorted(schemas, key=lambda s: snake_case(s.name)):
        structs = [struct.name for struct in schema.structs]
        lines += _import(f"{PACKAGE}.{snake_case(schema.name)}", structs)
        exported += structs
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in _sorted(exported)), "]"]
    requests = [schema for schema in schemas if schema.is_request]
    keys = ["class ApiKey(IntEnum):", *(f"    {_key(s)} = {s.api_key}" for s in requests)]
    table = ["APIS: Mapping[int, Api] = {", *(line for s in requests for line in _api(s)), "}"]
    return _joined([lines, keys, table])


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (not name.isupper(), name))


def _key(schema: MessageSchema) -> str:
    return snake_case(schema.api_name).upper()


def _api(schema: MessageSchema) -> Iterator[str]:
    flexible = max(schema.flexible.first, 0) if schema.flexible.last >= 0 else schema.versions.last + 1
    yield f"    {schema.api_key}: Api("
    yield f"        key=ApiKey.{_key(schema)},"
    yield f'        name="{_key(schema)}",'
    yield f"        request={schema.api_name}Request,"
    yield f"        response={schema.api_name}Response,"
    yield f"        min_version={schema.versions.first},"
    yield f"        max_version={schema.versions.last},"
    yield f"        flexible_from={flexible},"
    yield "    ),"
