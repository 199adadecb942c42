"""The partition and the replica state machine as tables, and a transition as a value.

An illegal transition changes nothing and is reported; the other members of a batch go on.
Source: kafka.controller.PartitionStateMachine, ReplicaStateMachine (3.9), `validPreviousStates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pytest_kcontroller.model.election import ElectionReason


class PartitionState(StrEnum):
    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaState(StrEnum):
    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


_P, _R = PartitionState, ReplicaState

PARTITION_FROM: Final[Mapping[PartitionState, frozenset[PartitionState]]] = {
    _P.NEW: frozenset({_P.NON_EXISTENT}),
    _P.ONLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.OFFLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.NON_EXISTENT: frozenset({_P.OFFLINE}),
}
"""Target -> the states from which it may be reached."""

REPLICA_FROM: Final[Mapping[ReplicaState, frozenset[ReplicaState]]] = {
    _R.NEW: frozenset({_R.NON_EXISTENT}),
    _R.ONLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.OFFLINE: frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE}),
    _R.DELETION_STARTED: frozenset({_R.OFFLINE}),
    _R.DELETION_SUCCESSFUL: frozenset({_R.DELETION_STARTED}),
    _R.DELETION_INELIGIBLE: frozenset({_R.OFFLINE, _R.DELETION_STARTED}),
    _R.NON_EXISTENT: frozenset({_R.DELETION_SUCCESSFUL}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTransition:
    """`cause` is Kafka's name of the event that wants it; `election`, how a leader is found, is needed for Online."""

    target: PartitionState
    cause: str
    election: ElectionReason | None = None
    unclean: bool = False
    """An admin wants a leader from outside the ISR if no member of it is live, whatever the configuration says."""

    def __post_init__(self) -> None:
        """Kafka's own argument check, since 1.1: before, a missing selector left the partition as it was."""
        if self.target is PartitionState.ONLINE and self.election is None:
            raise ValueError(f"{self.cause}: a partition becomes {self.target} only by an election, and none is named")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTransition:
    """`cause` is Kafka's name of the event that wants it."""

    target: ReplicaState
    cause: str


class Why(StrEnum):
    """Why a partition or a replica stayed as it was (Kafka: StateChangeFailedException)."""

    ILLEGAL = "it cannot go there from its state"
    NO_LEADER = "no replica may lead it"
    LEADS = "it is the leader"
    NO_CONFIG = "the configuration of its topic cannot be read, so nobody knows whether an unclean election is allowed"
    NO_STATE = "its state is unknown: there is no znode of it, or none that can be read"
    VANISHED = "its state znode is gone"
    EXISTS = "its state znode is there already"
    TOO_BIG = "its state is over ZooKeeper's packet limit"
    SUPERSEDED = "a newer controller has written its state"
