"""CPU seconds by phase: what runs counts for the innermost phase that is open.

Functions are wrapped, so nothing is guessed: plain ones, coroutines and generators. A coroutine may be wrapped only if it
never really waits while it is measured, since whatever ran meanwhile would count for it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

OTHER = "other"
ADDITIONS = compile("n = 0\nfor i in range(10_000_000): n += 1", "additions", "exec")
"""As a module's own code, not a function's, which is twice as fast."""


def additions_s() -> float:
    """CPU seconds of ten million additions: how fast the core is now."""
    began = time.process_time()
    exec(ADDITIONS, {})
    return time.process_time() - began


class Phases:
    """One at a time is open; `seconds` has what each took itself."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._open = [OTHER]
        self._since_s = time.process_time()

    def start(self) -> None:
        """Forgets what was before."""
        self.seconds.clear()
        self._since_s = time.process_time()

    def stop(self) -> dict[str, float]:
        self._switch()
        return dict(self.seconds)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._switch()
        self._open.append(name)
        try:
            yield
        finally:
            self._switch()
            self._open.pop()

    def _switch(self) -> None:
        now_s = time.process_time()
        self.seconds[self._open[-1]] += now_s - self._since_s
        self._since_s = now_s

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, counted as phase `name`."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self.phase(name):
                    return await function(*args, **kwargs)

            return coroutine
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
                items = function(*args, **kwargs)
                while True:
                    with self.phase(name):
                        try:
                            item = next(items)
                        except StopIteration:
                            return
                    yield item

            return generator

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with self.phase(name):
                return function(*args, **kwargs)

        return plain

    def wrap_all(self, places: Mapping[str, Sequence[str]]) -> None:
        """`places`: phase -> `module:function` or `module:Class.method`; those that a revision does not have are left out.

        Raises LookupError if a phase has none: then the list is out of date.
        """
        for name, targets in places.items():
            if not [target for target in targets if self._wrap_place(name, target)]:
                raise LookupError(f"none of the places of the phase {name!r} is there: {', '.join(targets)}")

    def _wrap_place(self, name: str, target: str) -> bool:
        module_name, _, path = target.partition(":")
        owner, _, attribute = path.rpartition(".")
        try:
            module = importlib.import_module(module_name)
            kind = getattr(module, owner) if owner else module
            old = getattr(kind, attribute)
        except (ModuleNotFoundError, AttributeError):
            return False
        new = self.wrap(name, old)
        if owner:
            setattr(kind, attribute, new)
        else:
            _replace_everywhere(old, new)
        return True


def _replace_everywhere(old: object, new: object) -> None:
    """A function is bound in each module that has imported it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("pytest_kcontroller"):
            for attribute, value in list(vars(module).items()):
                if value is old:
                    setattr(module, attribute, new)
