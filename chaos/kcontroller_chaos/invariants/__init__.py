"""Invariants: what must hold, one module each, offered through the public hook as a user's own are.

Public: `Invariant`, `check_all`, `for_run`, `named`; `kcontroller_chaos.checking` has what their checks are made of.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

from kcontroller_chaos.checking import VERDICTS, Verdict
from kcontroller_chaos.history.read import History
from pytest_kcontroller.cluster.timing import stretched
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.foreign import NoAnswerError, answer_within

__all__ = ["Invariant", "check_all", "for_run", "named"]


CHECK_S = 30.0
"""So long a plugin's invariant may look at one history, of however many events."""
MOST = 2**63 - 1
"""What a column of a report has room for."""
_ZXID = re.compile(r"0x[0-9a-f]{1,16}")


class Invariant(ABC):
    """One rule over the history of a run. The docstring of a class below, or of its module, says it in words."""

    name: str
    """Small letters, digits, hyphens."""
    kind: ClassVar[str]
    """SAFETY: violated at no moment; LIVENESS: holds after the last fault is healed."""
    expected: ClassVar[str]
    """What must hold, in a line."""
    source: ClassVar[str]
    """Where the rule comes from."""
    any_program: ClassVar[bool] = False
    """Whether it is about a program of a user's too, of which nobody knows that it is a broker (`[system]`)."""

    @abstractmethod
    def check(self, history: History) -> Verdict:
        """A function of the history alone: no input, no output, no memory."""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        text = vars(type(self)).get("__doc__") or sys.modules[type(self).__module__].__doc__ or ""
        return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())

    def judge(self, history: History) -> dict[str, Any]:
        """Its entry of verdicts.json. An invariant may come from a plugin: one that fails, or whose answer is none, is
        `unknown`, with a sentence that names it, and hides nothing of the others."""
        try:
            verdict = Verdict.unknown(history.log_error) if history.log_error else self._check(history)
        except NoAnswerError as late:
            verdict = Verdict.unknown(f"{self._class}.check: {late}")
        except (Exception, SystemExit) as failed:  # noqa: BLE001 - see above
            verdict = Verdict.unknown(f"{self._class}.check raised {type(failed).__name__}: {_text(failed)}")
        if problem := _problem(verdict):
            verdict = Verdict.unknown(f"{self._class}.check gave {problem}")
        elif verdict.verdict == "held" and not verdict.checks:
            verdict = Verdict.of(0)
        return verdict.entry(self.name, self.kind, self.expected)

    def _check(self, history: History) -> Verdict:
        if type(self).__module__.startswith(f"{(__package__ or '').partition('.')[0]}."):
            return self.check(history)
        return answer_within(stretched(CHECK_S), lambda: self.check(history))

    @property
    def _class(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}"


@hookimpl
def kcontroller_invariants() -> list[type[Invariant]]:
    """The invariant of every module here, by module name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    public = [name for name in modules if not name.rpartition(".")[2].startswith("_")]
    return [_of(importlib.import_module(name)) for name in public]


def _of(module: ModuleType) -> type[Invariant]:
    """The one that stands in it."""
    made = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    return next(one for one in made if issubclass(one, Invariant))


def for_run(invariants: Sequence[Invariant], *, program: bool) -> tuple[Invariant, ...]:
    """Those that a run is judged by; `program`: its nodes are programs of a user's."""
    return tuple(one for one in invariants if one.any_program or not program)


def named(name: str) -> Invariant:
    """Ours of this name. Raises KeyError. (Any: catalogue.load_catalogue.)"""
    return {made.name: made() for made in kcontroller_invariants()}[name]


def check_all(history: History, invariants: Sequence[Invariant] | None = None) -> list[dict[str, Any]]:
    """Every invariant's entry of verdicts.json, by name; None: ours."""
    chosen = [made() for made in kcontroller_invariants()] if invariants is None else invariants
    return [one.judge(history) for one in sorted(chosen, key=lambda one: one.name)]


def _problem(verdict: Any) -> str | None:
    """What of an answer cannot be used."""
    if not isinstance(verdict, Verdict):
        return f"{_text(verdict)}, no Verdict"
    if verdict.verdict not in VERDICTS:
        return f"the verdict {_text(verdict.verdict)}: there are {', '.join(VERDICTS)}"
    if type(verdict.checks) is not int or not 0 <= verdict.checks <= MOST:
        return f"`checks` = {_text(verdict.checks)}, which is no number of checks"
    if wrong := [name for name in ("seen", "where") if not isinstance(getattr(verdict, name), str)]:
        return f"`{wrong[0]}` = {_text(getattr(verdict, wrong[0]))}, which is no text"
    try:
        json.dumps(verdict.entry("", "", ""), allow_nan=False)
    except (TypeError, ValueError) as unwritable:
        return f"what cannot be written as JSON: {unwritable}"
    return None if verdict.witness is None else _problem_of_witness(verdict.witness)


def _problem_of_witness(witness: Any) -> str | None:
    """What of it is not as those are who read it (docs/formats.md)."""
    if not isinstance(witness, Mapping):
        return f"the witness {_text(witness)}, which has no names"
    t_us, zxid, believed = witness.get("t_us"), witness.get("zxid"), witness.get("believed", [])
    if t_us is not None and (type(t_us) is not int or abs(t_us) > MOST):
        return f"a witness with `t_us` = {_text(t_us)}, which are no microseconds"
    if zxid is not None and type(zxid) is not int and not (isinstance(zxid, str) and _ZXID.fullmatch(zxid)):
        return f"a witness with `zxid` = {_text(zxid)}: it is a text as hex() makes it"
    if not isinstance(believed, list) or not all(isinstance(one, Mapping) for one in believed):
        return f"a witness with `believed` = {_text(believed)}, which is no list of objects"
    return None


def _text(value: Any) -> str:
    return shown(value, str if isinstance(value, BaseException) else repr)
