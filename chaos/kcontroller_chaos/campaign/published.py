"""The declared keys as a JSON schema and as Markdown: what docs/ and campaign.schema.json have of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcontroller_chaos.admin import ACTIONS
from kcontroller_chaos.campaign.keys import Section, sections
from kcontroller_chaos.catalogue import Catalogue
from kcontroller_chaos.catalogue.actions import keys_of
from kcontroller_chaos.catalogue.invariants import keys_of as invariants_of
from kcontroller_chaos.catalogue.key import REQUIRED, Key, typed
from kcontroller_chaos.catalogue.kind import Kind, sentence
from kcontroller_chaos.znode_invariants import KINDS

_SEEDS = r"^\s*\d+(\.\.\d+)?\s*(,\s*\d+(\.\.\d+)?\s*)*$"
"""As seeds.py reads a text."""


def json_schema(catalogue: Catalogue) -> dict[str, Any]:
    """The schema that is published as campaign.schema.json (JSON Schema 2020-12)."""
    known = sections(catalogue)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kcontroller campaign",
        "type": "object",
        "additionalProperties": False,
        "required": [section.name for section in known if section.required],
        "properties": {section.name: _section_schema(section) for section in known},
    }


def _section_schema(section: Section) -> dict[str, Any]:
    table: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _key_schema(key) for key in section.keys},
    }
    if required := [key.name for key in section.keys if key.default is REQUIRED]:
        table["required"] = required
    return {"type": "array", "items": table} if section.many else table


def _key_schema(key: Key) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": f"{key.help} ({key.unit})" if key.unit else key.help}
    if key.type == "seeds":
        whole = {"type": "integer", "minimum": 0}
        schema["oneOf"] = [{"type": "string", "pattern": _SEEDS}, {"type": "array", "items": whole, "minItems": 1}]
    elif key.type == "plugin":
        schema["type"] = ["string", "object"]
    elif key.type == "names":
        schema |= {"type": "array", "items": {"enum": list(key.choices)} if key.choices else {"type": "string"}}
        return schema if key.default is REQUIRED else schema | {"default": key.default}
    elif key.type == "nodes":
        schema |= {"type": "array", "items": {"type": "integer", "minimum": 0}}
        return schema if key.default is None else schema | {"default": key.default}
    elif key.type == "range":
        numbers = {"type": "number", "minimum": key.least or 0, "maximum": key.most}
        return schema | {"type": "array", "items": numbers, "minItems": 2, "maxItems": 2, "default": key.default}
    elif key.type == "date":
        schema |= {"type": "string", "format": "date"}
    else:
        schema["type"] = key.type
    if key.type == "object" and key.choices:
        schema |= {
            "additionalProperties": False,
            "properties": {name: {"type": ["string", "object"]} for name in key.choices},
        }
    elif key.choices:
        schema["enum"] = [int(choice) if key.type == "integer" else choice for choice in key.choices]
    if key.least is not None:
        schema["minimum"] = key.least
    if key.most is not None:
        schema["maximum"] = key.most
    if key.default is not REQUIRED and key.default is not None:
        schema["default"] = key.default
    return schema


def docs_table(catalogue: Catalogue) -> str:
    """The key tables of docs/campaigns.md, in Markdown."""
    lines: list[str] = []
    for section in sections(catalogue):
        title = f"[[{section.name}]]" if section.many else f"[{section.name}]"
        lines += [f"### `{title}`: {section.help}", "", *_table(section.keys), ""]
    return "\n".join(lines)


def actions_table() -> str:
    """What the admin actions do and take, in docs/campaigns.md."""
    lines = ["| action | keys | what it does |", "|---|---|---|"]
    for kind, action in ACTIONS.items():
        named = ", ".join(f"`{key.name}`" + (" (required)" if key.default is REQUIRED else "") for key in keys_of(kind))
        lines.append(f"| `{kind}` | {named} | {sentence(action)} |")
    return "\n".join(lines)


def invariants_table() -> str:
    """The kinds of `[[invariants]]`, in docs/invariants.md: what each verdict of them says."""
    lines = ["| kind | keys | verdicts |", "|---|---|---|"]
    for kind, classes in KINDS.items():
        keys = ", ".join(
            f"`{key.name}`" + (" (required)" if key.default is REQUIRED else "") for key in invariants_of(kind)
        )
        verdicts = "<br>".join(f"`{one.rule}(...)`, {one.kind}: {sentence(one)}" for one in classes)
        lines.append(f"| `{kind}` | {keys} | {verdicts} |")
    return "\n".join(lines)


def parameters_table(kind: Kind) -> str:
    """The keys of one kind of fault, in docs/faults.md."""
    return "\n".join(_table(kind.keys))


def _table(keys: Sequence[Key]) -> list[str]:
    return ["| key | type | default | what |", "|---|---|---|---|", *map(_row, keys)]


def _row(key: Key) -> str:
    default = "required" if key.default is REQUIRED else "" if key.default is None else f"`{typed(key.default)}`"
    choices = f" (one of {', '.join(f'`{choice}`' for choice in key.choices)})" if key.choices else ""
    kind = f"{key.type}, {key.unit}" if key.unit else key.type
    return f"| `{key.name}` | {kind} | {default} | {key.help}{choices} |"
