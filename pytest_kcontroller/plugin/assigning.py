"""How an assignment strategy is asked, whoever it is from, and what happens when its answer cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_kcontroller.hookspecs import AssignmentStrategy
from pytest_kcontroller.model.assignment import AssignmentError, AssignmentRequest, check_request, rejection
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.foreign import NoAnswerError, answer_within

STOCK_STRATEGY = "striped"
"""What decides where the chosen strategy gave an answer that cannot be used."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """Partition -> replicas. `bad_answer` says why that of the chosen strategy could not be used: the stock one decided."""

    replicas: dict[int, tuple[int, ...]]
    by: str
    """The chosen strategy."""
    bad_answer: str | None = None


class Assigner:
    """A strategy may come from a plugin: an AssignmentError refuses the request; after every other exception, an answer
    that cannot be used, and `limit_s` of real time without any, `stock` decides, and in the last case ever after."""

    def __init__(
        self, strategy: AssignmentStrategy, stock: AssignmentStrategy, draw: Callable[[int], int], *, limit_s: float
    ) -> None:
        self._strategy, self._stock, self._draw, self._limit_s = strategy, stock, draw, limit_s

    def assign(self, request: AssignmentRequest) -> Assigned:
        """Raises AssignmentError, of Kafka's checks before a strategy is asked."""
        check_request(request)
        strategy, replicas, why = self._strategy, dict[int, tuple[int, ...]](), None
        try:
            if type(strategy) is type(self._stock):
                replicas, why = self._checked(self._stock, request)
            else:
                replicas, why = answer_within(self._limit_s, lambda: self._checked(strategy, request))
        except AssignmentError as refused:
            refused.by = strategy.name
            raise
        except NoAnswerError as passed:
            why, self._strategy = f"{passed}; it is not asked again", self._stock
        except (Exception, SystemExit) as failed:  # noqa: BLE001 - see above
            why = f"it raised {type(failed).__name__}: {shown(failed, str)}"
        if why is not None:
            replicas, _ = self._checked(self._stock, request)
        return Assigned(replicas, strategy.name, why)

    def _checked(
        self, strategy: AssignmentStrategy, request: AssignmentRequest
    ) -> tuple[dict[int, tuple[int, ...]], str | None]:
        """The answer, or why it cannot be used."""
        answer = strategy.assign(request, self._draw)
        if (why := rejection(answer, request)) is not None:
            return {}, why
        return {partition: tuple(replicas) for partition, replicas in sorted(answer.items())}, None
