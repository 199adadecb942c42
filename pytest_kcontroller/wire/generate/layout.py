"""The encoder and the decoder of one struct in one range of versions, as lines of Python.

Neighbouring fields of a fixed size are packed at once, with the count of tagged fields behind them where that is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_kcontroller.wire.generate.schema import (
    NO_VERSIONS,
    NUMBERS,
    UUID,
    Field,
    MessageSchema,
    StructSchema,
    Type,
    snake_case,
)
from pytest_kcontroller.wire.generate.source import call, default_value, define

_TAG_COUNT = "B"
_SIZES = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "q": 8, "d": 8, "16s": 16}


@dataclass
class Names:
    """What the lines use: names from wire.primitives, formats of the struct module, arrays of numbers by code."""

    primitives: dict[str, None] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)

    def primitive(self, name: str) -> str:
        self.primitives[name] = None
        return name

    def format(self, codes: Sequence[str]) -> str:
        """The name of a struct.Struct."""
        name = "_" + "".join({"?": "t", "16s": "u"}.get(code, code) for code in codes)
        self.formats[name] = ">" + "".join(codes)
        return name

    def array_of(self, kind: Type) -> str:
        self.numbers[name := f"_{kind.name}s"] = NUMBERS[kind.name]
        return name


@dataclass(frozen=True, slots=True)
class Group:
    """Versions of a message with one layout.

    `first`: struct -> the version after which its functions are named, the first one in which it is written the same way.
    """

    schema: MessageSchema
    versions: tuple[int, ...]
    first: Mapping[str, int]

    @property
    def version(self) -> int:
        return self.versions[0]

    @property
    def flexible(self) -> bool:
        return self.version in self.schema.flexible

    @property
    def newest(self) -> bool:
        return self.versions[-1] == self.schema.versions.last

    def function(self, verb: str, struct: str) -> str:
        return f"_{verb}_{snake_case(struct)}_v{self.first[struct]}"

    def own(self) -> Iterator[StructSchema]:
        """The structs whose functions are named after this group."""
        return (struct for struct in structs_of(self) if self.first[struct.name] == self.version)


def groups(schema: MessageSchema) -> list[Group]:
    """Neighbouring versions that have the same fields in the same form are one group."""
    found: list[tuple[object, list[int]]] = []
    for version in schema.spoken:
        form = _form(schema, schema.by_name[schema.name], version)
        if found and found[-1][0] == form:
            found[-1][1].append(version)
        else:
            found.append((form, [version]))
    seen: list[tuple[object, int]] = []
    made: list[Group] = []
    for _, versions in found:
        newest, first = versions[-1] == schema.versions.last, dict[str, int]()
        for struct in schema.structs:
            key = (struct.name, _form(schema, struct, versions[0]), newest and _has_structs(struct))
            first[struct.name] = next((version for known, version in seen if known == key), versions[0])
            seen.append((key, first[struct.name]))
        made.append(Group(schema, tuple(versions), first))
    return made


def _has_structs(struct: StructSchema) -> bool:
    """Then it is written in another way in the newest version: see write_array."""
    return any(f.type.is_struct for f in struct.fields)


def _form(schema: MessageSchema, struct: StructSchema, version: int) -> object:
    """What decides how a struct, and all that is in it, is written."""
    fields = [
        (
            f.name,
            f.in_body(version),
            f.in_tags(version),
            version in f.nullable,
            _form(schema, schema.by_name[f.type.name], version) if f.type.is_struct else None,
        )
        for f in struct.fields
    ]
    return version in schema.flexible, fields


def structs_of(group: Group) -> Iterator[StructSchema]:
    """Those that exist in these versions."""
    used = {group.schema.name}
    for struct in reversed(group.schema.structs):
        if struct.name in used:
            used.update(f.type.name for f in struct.fields if group.version in f.versions)
    yield from (struct for struct in group.schema.structs if struct.name in used)


def encoder(group: Group, struct: StructSchema, names: Names) -> list[str]:
    lines = define(group.function("encode", struct.name), f"m: {struct.name}, write: Write", "None")
    bare = len(lines)
    tagged = [f for f in struct.fields if f.in_tags(group.version)]
    runs = list(_runs(group, struct, bare_tags=group.flexible and not tagged))
    for run in runs:
        if isinstance(run, list):
            lines += _pack(run, names)
        else:
            lines += _write(group, run, names)
    if tagged:
        lines += ["    tagged: dict[int, bytes] = {}"]
        for each in tagged:
            lines += [f"    if {_differs(each)}:", f"        tagged[{each.tag}] = {_bytes(group, each, names)}"]
        lines += [f"    write({names.primitive('tagged_fields')}(tagged))"]
    return lines if len(lines) > bare else [*lines, "    return"]


def decoder(group: Group, struct: StructSchema, names: Names) -> list[str]:
    name = struct.name
    lines = define(group.function("decode", name), "data: bytes, at: int", f"tuple[{name}, int]")
    lines += [f"    m = object.__new__({name})"]
    if name != group.schema.name:
        lines += ["    m.encoded = None"]
    for absent in (f for f in struct.fields if not f.in_body(group.version)):
        lines += [f"    m.{absent.name} = {default_value(absent)}"]
    tagged = [f for f in struct.fields if f.in_tags(group.version)]
    for run in _runs(group, struct, bare_tags=group.flexible and not tagged):
        lines += _unpack(run, names) if isinstance(run, list) else _read(group, run, names)
    if tagged:
        lines += [f"    tagged, at = {names.primitive('read_tagged_fields')}(data, at)"]
        for each in tagged:
            lines += [f"    if {each.tag} in tagged:", f"        {_read_tagged(group, each, names)}"]
    return [*lines, "    return m, at"]


def _code(f: Field, group: Group) -> str | None:
    """The struct code of a field of a fixed size."""
    if f.type.array or f.type.is_struct:
        return None
    return "16s" if f.type.name == UUID else NUMBERS.get(f.type.name)


Run = list[tuple[str, str]]
"""Codes of the struct module with what is packed by them: an attribute of the message, or nothing for the count of tags."""


def _runs(group: Group, struct: StructSchema, *, bare_tags: bool) -> Iterator[Run | Field]:
    run: Run = []
    for each in (f for f in struct.fields if f.in_body(group.version)):
        if (code := _code(each, group)) is not None:
            run.append((code, f"m.{each.name}"))
            continue
        if run:
            yield run
        run = []
        yield each
    if bare_tags:
        run.append((_TAG_COUNT, ""))
    if run:
        yield run


def _pack(run: Run, names: Names) -> list[str]:
    if run == [(_TAG_COUNT, "")]:
        return [f"    write({names.primitive('NO_TAGS')})"]
    packer = f"{names.format([code for code, _ in run])}.pack"
    return call(4, packer, [name or "0" for _, name in run], outer="write")


def _unpack(run: Run, names: Names) -> list[str]:
    skip = names.primitive("skip_tagged_fields") if run[-1][0] == _TAG_COUNT else None
    if skip and len(run) == 1:
        return [f"    at = at + 1 if data[at] == 0 else {skip}(data, at)"]
    targets = [name or "tags" for _, name in run]
    unpacked = f"{names.format([code for code, _ in run])}.unpack_from(data, at)"
    size = sum(_SIZES[code] for code, _ in run)
    if len(targets) == 1:
        lines = [f"    ({targets[0]},) = {unpacked}"]
    elif len(line := f"    {', '.join(targets)} = {unpacked}") <= 120:
        lines = [line]
    else:
        lines = ["    (", *(f"        {target}," for target in targets), f"    ) = {unpacked}"]
    if skip is None:
        return [*lines, f"    at += {size}"]
    return [*lines, f"    at = at + {size} if tags == 0 else {skip}(data, at + {size - 1})"]


def _element(group: Group, f: Field, verb: str) -> str:
    return group.function(verb, f.type.name)


def _bytes(group: Group, f: Field, names: Names, value: str = "") -> str:
    """An expression for the bytes of a field."""
    value = value or f"m.{f.name}"
    if (code := _code(f, group)) is not None:
        return f"{names.format([code])}.pack({value})"
    if f.type.is_struct:
        write = f"lambda write: {_array_writer(group, names)}({value}, {_element(group, f, 'encode')}, write)"
        return f"{names.primitive('joined')}({write})"
    plain = "" if group.flexible else "plain_"
    if f.type.array and f.type.name != "string":
        return f"{names.array_of(f.type)}.{plain}encode({value})"
    encode = "strings" if f.type.array else {"string": "string", "bytes": "octets"}[f.type.name]
    return f"{names.primitive(plain + encode)}({value})"


def _array_writer(group: Group, names: Names) -> str:
    if not group.flexible:
        return names.primitive("write_plain_array")
    return names.primitive("write_array" if group.newest else "write_older_array")


def _write(group: Group, f: Field, names: Names) -> list[str]:
    value = f"m.{f.name}"
    if f.nullable != NO_VERSIONS and group.version not in f.nullable:
        value = f"{names.primitive('required')}({value})"
    if f.type.is_struct:
        write = f"{_array_writer(group, names)}({value}, {_element(group, f, 'encode')}, write)"
    else:
        write = f"write({_bytes(group, f, names, value)})"
    if group.version not in f.nullable:
        return [f"    {write}"]
    null = f"write({_null(group, f, names)})"
    return [f"    if m.{f.name} is None:", f"        {null}", "    else:", f"        {write}"]


def _null(group: Group, f: Field, names: Names) -> str:
    if group.flexible:
        return names.primitive("NULL")
    return names.primitive("NULL_STRING" if f.type.name == "string" and not f.type.array else "NULL_LENGTH")


def _reader(group: Group, f: Field, names: Names) -> tuple[str, list[str]]:
    """A function of wire.primitives, and what it is given before the bytes and the offset."""
    plain = "" if group.flexible else "plain_"
    if f.type.is_struct:
        return names.primitive(f"read_{plain}array"), [_element(group, f, "decode")]
    if f.type.array and f.type.name == "string":
        return names.primitive(f"read_{plain}array"), [names.primitive(f"read_{plain}string")]
    if f.type.array:
        return f"{names.array_of(f.type)}.{plain}read", []
    kind = {"string": "string", "bytes": "octets"}[f.type.name]
    return names.primitive(f"read_{plain}{kind}"), []


def _read(group: Group, f: Field, names: Names) -> list[str]:
    function, first = _reader(group, f, names)
    if group.version in f.nullable and group.flexible:
        function, first = names.primitive("read_nullable"), [_as_function(function, first)]
    elif group.version in f.nullable:
        nullable = [_null(group, f, names), _as_function(function, first)]
        function, first = names.primitive("read_plain_nullable"), nullable
    return call(4, f"m.{f.name}, at = {function}", [*first, "data", "at"])


def _as_function(function: str, first: list[str]) -> str:
    return f"lambda data, at: {function}({', '.join([*first, 'data', 'at'])})" if first else function


def _read_tagged(group: Group, f: Field, names: Names) -> str:
    """From the bytes of one tagged field."""
    if (code := _code(f, group)) is not None:
        return f"(m.{f.name},) = {names.format([code])}.unpack(tagged[{f.tag}])"
    function, first = _reader(group, f, names)
    return f"m.{f.name} = {function}({', '.join([*first, f'tagged[{f.tag}]', '0'])})[0]"


def _differs(f: Field) -> str:
    """Whether a tagged field is not its default, which is not written."""
    default = default_value(f)
    if default in ("[]", "()", '""', 'b""', "False"):
        return f"m.{f.name}"
    if default == "True":
        return f"not m.{f.name}"
    return f"m.{f.name} is not None" if default == "None" else f"m.{f.name} != {default}"
