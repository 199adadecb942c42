"""Seams and mutants.

`@seam("name")` marks a step that can be replaced. A mutant is a list of replacements that puts a known bug back; it is
written outside the production packages and chosen by name. Each replacement counts how often it ran, so that a campaign
can tell *found*, *survived* and *not reached* apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_originals: dict[str, Callable[..., Any]] = {}
_replaced: dict[str, Callable[..., Any]] = {}
_counts: dict[str, int] = {}
_mutants: dict[str, Callable[..., Any]] = {}
"""The seams that the mutant replaces, since it was installed last."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`replacements`: pairs of a seam's name and the function that takes its place, with the same parameters.

    `breaks`: the invariants that are known to be violated by it. `kafkas`: Kafka 3.9 itself does as it does, so that a team
    may want it although it is a bug (`kafka_compat`).
    """

    name: str
    description: str
    source: str
    replacements: tuple[tuple[str, Callable[..., Any]], ...]
    breaks: tuple[str, ...] = ()
    kafkas: bool = False


class MutantDoesNotApplyError(Exception):
    """A mutant names a seam that does not exist (the code has moved on): the run must fail, not survive."""

    def __init__(self, mutant: str, seam: str) -> None:
        known = ", ".join(sorted(_originals)) or "none"
        super().__init__(f"mutant {mutant} replaces the seam {seam!r}, which does not exist; there are: {known}")


def seam(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Marks a function or method as replaceable under `name` (unique in the project)."""

    def mark(original: Callable[P, R]) -> Callable[P, R]:
        known = _originals.get(name)
        # The same again: its module was forgotten and is imported once more, as by two runs of pytest's `pytester`.
        if known is not None and _place(known) != _place(original):
            raise ValueError(f"two seams are called {name!r}")
        _originals[name] = original

        @functools.wraps(original)
        def step(*args: P.args, **kwargs: P.kwargs) -> R:
            if (other := _replaced.get(name)) is None:
                return original(*args, **kwargs)
            _counts[name] = _counts.get(name, 0) + 1
            result: R = other(*args, **kwargs)
            return result

        return step

    return mark


def _place(step: Callable[..., Any]) -> tuple[str, str]:
    return step.__module__, step.__qualname__


def original(name: str) -> Callable[..., Any]:
    """The step itself, for a replacement to compare with or to call. Raises KeyError."""
    return _originals[name]


def unchanged(name: str) -> None:
    """Said by a replacement that did just what the step itself does: this time it is not counted."""
    _counts[name] -= 1


def check_applies(mutant: Mutant | None) -> None:
    """Raises MutantDoesNotApplyError. The modules with the seams have been imported by then."""
    if mutant is None:
        return
    for name, _ in mutant.replacements:
        if name not in _originals:
            raise MutantDoesNotApplyError(mutant.name, name)


@contextmanager
def installed(mutant: Mutant | None, kafkas: Sequence[Mutant] = ()) -> Iterator[None]:
    """Replaces the mutant's seams while the block runs, and those of `kafkas`, which are not counted.

    Where both replace a seam, the mutant does. Raises MutantDoesNotApplyError.
    """
    chosen = [*kafkas, *(() if mutant is None else (mutant,))]
    for one in chosen:
        check_applies(one)
    _counts.clear()
    _mutants.clear()
    _replaced.update(pair for one in chosen for pair in one.replacements)
    _mutants.update(() if mutant is None else mutant.replacements)
    try:
        yield
    finally:
        for one in chosen:
            for name, _ in one.replacements:
                _replaced.pop(name, None)


def counts() -> dict[str, int]:
    """How often the replacement of each seam ran, and changed something, since the mutant was installed."""
    return {name: count for name, count in sorted(_counts.items()) if count and name in _mutants}
