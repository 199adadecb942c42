"""`kcontroller gc`: removes what sessions that have ended left behind, and nothing that a living one has."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._json import print_json

if TYPE_CHECKING:
    from pytest_kcontroller.cli._leftovers import Found, Item

NAME = "gc"
HELP = "list and remove what sessions that have ended left behind"

ENVIRONMENT = 6
COMMAND_LENGTH = 70


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only list it")
    parser.add_argument("--session", metavar="ID", help="only what this session left, as the list names it")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    explain(
        parser,
        examples=["kcontroller gc --dry-run", "kcontroller gc"],
        statuses="0 nothing is left (--dry-run: it is listed), 6 something could not be removed",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.cli._leftovers import NAMED_BY, survey
    from pytest_kcontroller.cluster.children.processes import SESSION
    from pytest_kcontroller.errors import UsageError

    if args.session is not None and not SESSION.fullmatch(args.session):
        what = f"{args.session!r} is no id of a session"
        raise UsageError(
            what, where="--session", hint="two numbers, as `kcontroller gc --dry-run` lists them: 4711-123456"
        )
    found = survey()
    if args.session is not None:
        found = [replace(each, items=tuple(i for i in each.items if i.session == args.session)) for each in found]
    failed = {}
    for item in (item for each in found for item in each.items if not item.kept):
        if not args.dry_run and (why := item.remove()):
            failed[item] = why
    if args.json:
        items = [_record(item, failed.get(item, ""), args.dry_run) for each in found for item in each.items]
        unseen = {each.kind: each.problem for each in found if each.problem}
        print_json({"leftovers": items, "not_looked_at": unseen})
    else:
        print("\n".join(_text(found, failed, args.dry_run)))
    meant = {kind for kind, names in NAMED_BY.items() if not os.environ.keys().isdisjoint(names)}
    blind = any(each.problem and each.kind in meant for each in found)
    return ENVIRONMENT if failed or blind else 0


def _record(item: Item, failed: str, dry_run: bool) -> dict[str, object]:
    removed = not (item.kept or failed or dry_run)
    facts = {"kind": item.kind, "name": item.name, "session": item.session, "detail": item.detail}
    return {**facts, "removed": removed, "why_not": item.kept or failed or ("--dry-run" if dry_run else "")}


def _text(found: list[Found], failed: dict[Item, str], dry_run: bool) -> list[str]:
    lines, left = [], 0
    for item in (item for each in found for item in each.items):
        line = f"{item.kind} {item.name}  {_shortened(item.detail)}".rstrip()
        if item.kept:
            lines.append(f"kept     {line} ({item.kept})")
        elif item in failed:
            lines.append(f"FAILED   {line}: {failed[item]}")
        else:
            lines.append(f"{'found' if dry_run else 'removed':<8} {line} (session {item.session} has ended)")
        left += not item.kept
    lines += [f"not looked at: {each.kind}: {each.problem}" for each in found if each.problem]
    count = f"{left} leftover{'' if left == 1 else 's'}"
    if left and dry_run:
        count += "; kcontroller gc removes them"
    elif left:
        count += f", {left - len(failed)} removed"
    return [*lines, count]


def _shortened(command: str) -> str:
    return command if len(command) <= COMMAND_LENGTH else f"{command[: COMMAND_LENGTH - 3]}..."
