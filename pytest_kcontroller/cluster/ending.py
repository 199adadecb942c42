"""The end of what consists of many parts: each is ended, whatever happens at another, and everything that failed is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pytest_kcontroller.errors import EnvironmentFailure, KControllerError

End = Callable[[], Awaitable[object]]


async def end_all(*stages: Sequence[End]) -> None:
    """One stage after the other; what is in one ends at once.

    Raises what one of them raised; of several failures of ours, an EnvironmentFailure with all their sentences; before
    both, what is a bug or a cancellation.
    """
    failures: list[BaseException] = []
    for stage in stages:
        for answer in await asyncio.gather(*(end() for end in stage), return_exceptions=True):
            if isinstance(answer, BaseException):
                failures.append(answer)
    if bugs := [each for each in failures if not isinstance(each, KControllerError)]:
        raise bugs[0]
    if len(failures) > 1:
        raise EnvironmentFailure("\n".join(map(str, failures)))
    if failures:
        raise failures[0]
