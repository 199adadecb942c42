"""The command line `kcontroller`: every module here is a subcommand.

A subcommand module has `NAME`, `HELP`, `add_arguments(parser)` and `run(args) -> int` (the exit status). Its imports of
anything heavy belong inside `run`: all modules are imported for `--help`. Modules that begin with `_` are their helpers.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from types import ModuleType

from pytest_kcontroller import __version__
from pytest_kcontroller.cli._json import only_json
from pytest_kcontroller.cli._signals import terminated_as_interrupted
from pytest_kcontroller.cli._streams import leave, open_closed
from pytest_kcontroller.errors import EnvironmentFailure, KControllerError, UsageError
from pytest_kcontroller.model.text import printable_lines, shown

INTERNAL_ERROR = 3
INTERRUPTED = 130
BROKEN_PIPE = 141
"""As a shell says it of a program that SIGPIPE ended."""
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Of a disk that is full, a quota or a largest size of files that is reached, a file system that may only be read (the
kernel makes it so when its disk fails), and a terminal that has been closed."""

GROUPS = {
    "Start here": ("doctor", "up"),
    "Chaos campaigns": ("campaign", "hunt", "replay", "shrink", "report"),
    "What a campaign can name": ("faults", "invariants", "mutants", "selectors", "assignments"),
    "Plugins of your own": ("plugins", "run-selector"),
    "Single parts and cleaning up": ("node", "gc"),
}
"""How `--help` arranges the commands; one that is not named here is in the last group."""

STATUSES = """\
Exit status: 0 all is well (a campaign: everything held), 1 violated, 2 a bad option or file, 3 an error of
kcontroller itself, 4 unknown, 5 nothing there, 6 the environment failed, 130 Ctrl-C.
Examples of each command: kcontroller COMMAND --help"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one subcommand and returns its exit status; every error is one message on stderr.

    The statuses are listed in errors.py; a Ctrl-C is 130. KCONTROLLER_DEBUG=1 shows the traceback of an internal error.
    """
    open_closed()
    _take_any_text()
    try:
        return _run(argv)
    except KControllerError as error:
        _say(printable_lines(str(error)))
        return error.exit_status
    except KeyboardInterrupt:
        _say("interrupted")
        try:
            sys.stdout.flush()
        except OSError:
            leave(sys.stdout)
        return INTERRUPTED
    except BrokenPipeError:
        leave(sys.stdout)
        return BROKEN_PIPE
    except OSError as full:
        if full.errno not in UNWRITABLE:
            return _internal(full)
        _say(f"nothing more can be written: {full}")
        leave(sys.stdout)
        return EnvironmentFailure.exit_status
    except SystemExit:  # argparse's own, whose message is out
        raise
    except BaseException as bug:  # noqa: BLE001 - the last place where one can be turned into a sentence
        return _internal(bug)


def _run(argv: Sequence[str] | None) -> int:
    commands = _commands()
    args = _parser(commands).parse_args(argv)
    try:
        with terminated_as_interrupted(), only_json() if getattr(args, "json", False) else nullcontext():
            status: int = commands[args.command].run(args)
            return status
    except SystemExit as left:  # code of others that we ran: its word must not pass for ours
        raise UsageError(
            f"a plugin ended the process (sys.exit({left.code!r}))", hint="mend or leave out the plugin"
        ) from None


def exit_status_of(failed: BaseException) -> int:
    """What a command ends with that fails so."""
    if isinstance(failed, KControllerError):
        return failed.exit_status
    if isinstance(failed, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(failed, SystemExit):
        return UsageError.exit_status
    full = isinstance(failed, OSError) and failed.errno in UNWRITABLE
    return EnvironmentFailure.exit_status if full else INTERNAL_ERROR


def _internal(bug: BaseException) -> int:
    if os.environ.get("KCONTROLLER_DEBUG") == "1":
        traceback.print_exception(bug)
    _say(
        f"internal error: {type(bug).__name__}: {shown(bug, str)}\n"
        "  -> please report it as a bug, with the output of the same command under KCONTROLLER_DEBUG=1"
    )
    return INTERNAL_ERROR


def _say(text: str) -> None:
    """On stderr. That nobody reads it must not change the exit status."""
    with suppress(OSError):
        print(f"kcontroller: {text}", file=sys.stderr)


def _take_any_text() -> None:
    """A stream that cannot take a character (ASCII, halves of characters) shows its code: no text may end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _commands() -> dict[str, ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return {module.NAME: module for module in modules}


def explain(parser: argparse.ArgumentParser, *, examples: Sequence[str], statuses: str) -> None:
    """Ends the parser's `--help` with commands to type (`command  # remark`) and what its exit statuses mean."""
    shown = "\n".join(f"  {example}" for example in examples)
    parser.epilog = f"examples:\n{shown}\n\nexit status: {statuses}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


def _parser(commands: dict[str, ModuleType]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kcontroller",
        usage="kcontroller [-h] [--version] COMMAND ...",
        description=_overview({name: module.HELP for name, module in commands.items()}),
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pytest-kcontroller {__version__}")
    # The overview lists the commands in groups, which argparse cannot.
    choices = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog=parser.prog
    )
    for name, module in commands.items():
        module.add_arguments(choices.add_parser(name, description=module.HELP))
    return parser


def _overview(helps: dict[str, str]) -> str:
    grouped = {name for names in GROUPS.values() for name in names}
    *_, last = GROUPS
    lines = ["Fixtures, plugins and chaos campaigns around a ZooKeeper-based controller like Apache Kafka's."]
    for title, names in GROUPS.items():
        rest = sorted(helps.keys() - grouped) if title == last else ()
        members = [name for name in (*names, *rest) if name in helps]
        if members:
            lines += ["", f"{title}:", *(f"  {name:<14}{helps[name]}" for name in members)]
    return "\n".join(lines)
