"""`kcontroller run-selector NAME VIEW.json`: one answer of a selector, without a cluster."""

from __future__ import annotations

import argparse
import json
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._json import print_json
from pytest_kcontroller.cli._text import labelled

if TYPE_CHECKING:
    from pytest_kcontroller.model.election import LeaderChoice

NAME = "run-selector"
HELP = "ask a leader selector about one partition, without a cluster"

REJECTED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a leader selector; kcontroller selectors lists them")
    parser.add_argument("view", type=Path, metavar="VIEW.json", help="the partition and the brokers (docs/cli.md)")
    parser.add_argument("--reason", default="offline", help="why a leader is needed (default: %(default)s)")
    parser.add_argument("--plugin", action="append", default=[], metavar="MODULE", help="load this plugin too")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the selector; VALUE is JSON, else text; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    explain(
        parser,
        examples=[
            "kcontroller run-selector offline docs/examples/view.json",
            "kcontroller run-selector rack-sticky view.json --plugin my_selectors --option weight=0.3",
        ],
        statuses="0 a controller would take the answer, 1 it would reject it,\n2 a bad name, option or view",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.cli._view import load_view
    from pytest_kcontroller.controller.decide.leader import rejection
    from pytest_kcontroller.errors import UsageError
    from pytest_kcontroller.model.election import ElectionReason
    from pytest_kcontroller.model.suggestions import nearest
    from pytest_kcontroller.model.text import shown
    from pytest_kcontroller.plugin.blame import FROM_OUTSIDE
    from pytest_kcontroller.plugin.manager import load_plugins

    reasons = [reason.value for reason in ElectionReason]
    if args.reason not in reasons:
        raise UsageError(
            f"there is no election reason {args.reason!r}", where="--reason", hint=nearest(args.reason, reasons)
        )
    reason = ElectionReason(args.reason)
    plugins = load_plugins(args.plugin)
    plugin = None if args.name not in plugins.selectors.names else plugins.selectors.plugin_of(args.name)
    selector = plugins.selectors.make({**_options(args.option), "name": args.name})
    view = load_view(args.view)
    choice, why = None, None
    try:
        choice = selector.select(view, reason)
        why = None if choice is None else rejection(choice, view, reason)
    except FROM_OUTSIDE:
        raise
    except BaseException as raised:  # noqa: BLE001 - a plugin may raise anything; its author needs the place
        why = f"it raised {shown(raised)} at {_place(raised)}"
        if os.environ.get("KCONTROLLER_DEBUG") == "1":
            traceback.print_exc()
    stock = plugins.selectors_for({})[reason]
    instead = None if why is None else stock.select(view, reason)
    record = {
        "selector": args.name,
        "plugin": plugin,
        "reason": reason.value,
        "partition": str(view),
        "answer": _answer(choice),
        "rejected": why,
        "instead": None if why is None else {"selector": stock.name, "answer": _answer(instead)},
    }
    if args.json:
        print_json(record)
    else:
        print("\n".join(_text(record)))
    return 0 if why is None else REJECTED


def _options(given: list[str]) -> dict[str, Any]:
    from pytest_kcontroller.errors import UsageError

    options: dict[str, Any] = {}
    for pair in given:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{pair!r} is not KEY=VALUE", where="--option", hint="weight=0.3, for example")
        try:
            options[key] = json.loads(text)
        except (ValueError, RecursionError):
            options[key] = text
    return options


def _place(raised: BaseException) -> str:
    """FILE:LINE of the innermost frame."""
    frames = traceback.extract_tb(raised.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}"


def _answer(choice: LeaderChoice | object | None) -> Any:
    """None: nobody. What is no LeaderChoice, or names no brokers, is shown as it prints itself."""
    from pytest_kcontroller.model.election import LeaderChoice

    if not isinstance(choice, LeaderChoice) or not choice.names_brokers:
        return None if choice is None else repr(choice)
    recipients = None if choice.recipients is None else list(choice.recipients)
    return {"leader": choice.leader, "isr": list(choice.isr), "recipients": recipients}


def _text(record: dict[str, Any]) -> list[str]:
    head = f"{record['selector']} on {record['partition']}, reason {record['reason']}:"
    if record["rejected"] is None:
        return [head, *labelled(_rows(record["answer"]), indent="  ")]
    instead = record["instead"]
    shown = [] if record["answer"] is None else _rows(record["answer"])
    lines = [head, *labelled([*shown, ("rejected", record["rejected"])], indent="  ")]
    lines += [
        f"A controller records this as selector.bad-answer, and the stock selector {instead['selector']} decides:"
    ]
    return [*lines, *labelled(_rows(instead["answer"]), indent="  ")]


def _rows(answer: Any) -> list[tuple[str, str]]:
    if answer is None:
        return [("leader", "nobody: the partition stays as it is")]
    if isinstance(answer, str):
        return [("answer", answer)]
    chosen = answer["recipients"]
    return [
        ("leader", str(answer["leader"])),
        ("ISR", _ids(answer["isr"])),
        ("recipients", "by the rule of the reason" if chosen is None else _ids(chosen)),
    ]


def _ids(brokers: list[int]) -> str:
    return ", ".join(map(str, brokers)) or "nobody"
