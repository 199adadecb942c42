"""The controller in a box, with one partition in the state that a vector says: so that one transition can be looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pytest_kcontroller.controller.batch import Batch
from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import Assignment, LeaderAndIsr, TopicPartition
from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.zookeeper.session import Create
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, encode_controller_epoch
from tests.tools.controller_box import ControllerBox

TOPIC = "t"
TP = TopicPartition(TOPIC, 0)


class Stage:
    """The term of an active controller."""

    def __init__(self, box: ControllerBox) -> None:
        assert box.controller.term is not None
        self.box, self.term = box, box.controller.term
        self.context = self.term.context
        self._asked: list[TopicPartition] = []
        """Of what an UpdateMetadata was to be sent; without leadership it is left out of the request."""
        self._send, self.term.requests.send = self.term.requests.send, self._note  # type: ignore[method-assign]

    async def _note(self, batch: Batch) -> None:
        self._asked += [tp for tps in batch._metadata.values() for tp in tps]
        await self._send(batch)

    def place(
        self,
        replicas: Sequence[Sequence[int]],
        *,
        topic: str = TOPIC,
        states: Mapping[int, LeaderAndIsr] | None = None,
        known: bool = True,
    ) -> list[TopicPartition]:
        """A topic with these states in ZooKeeper and, if `known`, in the context. In the state machines nothing of it
        exists: how it goes on is up to the vector. Returns its partitions."""
        tps = [TopicPartition(topic, number) for number in range(len(replicas))]
        self.box.create_topic(topic, [[] for _ in replicas], states=states)  # nobody leads what has no replicas
        self.context.assign(topic, {number: Assignment(tuple(ids)) for number, ids in enumerate(replicas)})
        self.box.change_topic(topic, replicas)
        self.context.set_partition_state(tps, PartitionState.NON_EXISTENT)
        if known:
            self.context.set_leadership({TopicPartition(topic, number): s for number, s in (states or {}).items()})
        self.forget()
        return tps

    def forget(self) -> None:
        self.box.forget()
        self._asked.clear()

    def set_replicas(self, state: ReplicaState, *, topic: str = TOPIC) -> None:
        """Of all replicas of a topic."""
        for tp in self.context.partitions_of(topic):
            for broker in self.context.assignments[tp].replicas:
                self.context.set_replica_state(broker, [tp], state)

    def told(self, tp: TopicPartition = TP) -> dict[str, Any]:
        """Who was sent what of a partition since it was placed: brokers ascending, None where nobody was."""
        name, box = str(tp), self.box
        told = [sent for sent in box.sent("LeaderAndIsr") if name in sent.entries]
        stopped = [sent for sent in box.sent("StopReplica") if name in sent.entries]
        updated = box.sent("UpdateMetadata")
        return {
            "leader_and_isr": (
                told and {"brokers": sorted(s.broker for s in told), "is_new": told[0].entries[name].is_new}
            )
            or None,
            "stop_replica": (
                stopped
                and {
                    "broker": stopped[0].broker,
                    "delete": stopped[0].entries[name].delete_partition,
                    "leader_epoch": stopped[0].entries[name].leader_epoch,
                }
            )
            or None,
            "update_metadata": (
                updated
                and {
                    "brokers": sorted(s.broker for s in updated),
                    "partitions": sorted({str(tp) for tp in self._asked}),
                }
            )
            or None,
        }


@contextmanager
def stage(
    *, brokers: Collection[int], shutting_down: Iterable[int] = (), controller_epoch: int | None = None, **box: Any
) -> Iterator[Stage]:
    """`brokers` are registered; `controller_epoch` is that of the term; `box` is what ControllerBox takes."""
    with ControllerBox(brokers=sorted(brokers), **box) as made:
        if controller_epoch is not None:
            made.write(Create(CONTROLLER_EPOCH, encode_controller_epoch(controller_epoch - 1)))
        made.start()
        opened = Stage(made)
        for broker in shutting_down:
            opened.context.begin_shutdown(broker)
        yield opened


def state_of(values: Mapping[str, Any]) -> LeaderAndIsr:
    """A state as vectors give it; what is not given is as it is at first."""
    return LeaderAndIsr(
        leader=values.get("leader", -1),
        leader_epoch=values.get("leader_epoch", 0),
        isr=tuple(values.get("isr", ())),
        controller_epoch=values.get("controller_epoch", 1),
        partition_epoch=0,
    )


def shown(state: LeaderAndIsr | None) -> dict[str, Any] | None:
    """A state as vectors expect it."""
    if state is None:
        return None
    return {
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": list(state.isr),
        "controller_epoch": state.controller_epoch,
        "leader_recovery_state": "RECOVERING" if state.recovering else "RECOVERED",
    }


def error_name(code: int, *, exception: bool = False) -> str | None:
    """As vectors call an error: by Kafka's name of the code, `STALE_BROKER_EPOCH`, or of the exception."""
    error = ErrorCode(code)
    if error == ErrorCode.NONE:
        return None
    return error.name.title().replace("_", "") if exception else error.name
