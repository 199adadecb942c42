"""What could not follow a transition is recorded and logged, once for a batch; the others of the batch have gone on."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState, Why
from pytest_kcontroller.model.cluster import TopicPartition
from pytest_kcontroller.model.history import ControllerStateChangeFailed, Record

RECORDED = 10
"""So many are named in one event."""

_log = logging.getLogger(__name__)


class Refusals:
    """Kafka's state-change log, for one term."""

    def __init__(self, context: Context, record: Record) -> None:
        self._context, self._record = context, record

    def report(
        self,
        machine: str,
        target: PartitionState | ReplicaState,
        cause: str,
        refused: Mapping[TopicPartition, Why] | Mapping[tuple[TopicPartition, int], Why],
    ) -> None:
        """`machine`: partition or replica. A partition that nobody may lead is no mistake: it is offline, and stays so."""
        mistakes = {_name(key): why for key, why in refused.items() if why is not Why.NO_LEADER}
        if not mistakes:
            return
        named = {name: mistakes[name].value for name in sorted(mistakes)[:RECORDED]}
        self._record(
            ControllerStateChangeFailed(
                epoch=self._context.epoch,
                machine=machine,
                target=target.value,
                cause=cause,
                count=len(mistakes),
                failed=named,
            )
        )
        _log.error("%s: %d of the %ss could not become %s: %s", cause, len(mistakes), machine, target.value, named)


def _name(key: TopicPartition | tuple[TopicPartition, int]) -> str:
    """`t-0` of a partition; `t-0 on 2` of its replica on broker 2."""
    return str(key) if isinstance(key, TopicPartition) else f"{key[0]} on {key[1]}"
