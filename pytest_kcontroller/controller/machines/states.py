"""State znodes: created and compared-and-set behind the fence, from what the context holds.

ZooKeeper is not asked before a write: the context has each state with its version, and a write that was stale brings what
is there; where there is nothing to write, a state can be read again. What was written, and what was found instead, is in the
context when a call returns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.fences import fence_of_states
from pytest_kcontroller.controller.transitions import Why
from pytest_kcontroller.model.cluster import LeaderAndIsr, TopicPartition
from pytest_kcontroller.model.history import ControllerEventFailed, ControllerFenced, Record
from pytest_kcontroller.model.turns import Pieces
from pytest_kcontroller.runtime.holds import BEFORE_STATE_WRITE, Holds
from pytest_kcontroller.zookeeper.session import Create, Node, SetData
from pytest_kcontroller.zookeeper.store import FencedError, Stale, Store, WriteResult, Written
from pytest_kcontroller.zookeeper.znodes import (
    CorruptZnodeError,
    decode_state,
    encode_state,
    state_parents,
    state_path,
)

PATHS_RECORDED = 10
READ_AT_ONCE = 5_000
"""States. They are read by the hundred, and so many answers are waited for together."""

States = dict[TopicPartition, LeaderAndIsr]
Refused = dict[TopicPartition, Why]


@dataclass(slots=True)
class Changed:
    """What came of a change. A partition that needed none is in none of them."""

    written: States = field(default_factory=dict)
    """As they are in ZooKeeper now."""
    stale: list[TopicPartition] = field(default_factory=list)
    """Somebody has written them since; the context has what is there."""
    refused: Refused = field(default_factory=dict)


class StateZnodes:
    """The state znodes of one term."""

    def __init__(self, context: Context, store: Store, holds: Holds, record: Record) -> None:
        self._context, self._store, self._holds, self._record = context, store, holds, record

    async def load(self, tps: Iterable[TopicPartition]) -> None:
        """Takes over the states that are there and that this term may change."""
        async for found in self._read(tps):
            self._context.set_leadership(found)

    async def load_changed(self, decided: Mapping[TopicPartition, LeaderAndIsr]) -> list[TopicPartition]:
        """Takes over those of the states that somebody else has written since, and says which they are."""
        changed: list[TopicPartition] = []
        async for found in self._read(decided):
            others = {tp: now for tp, now in found.items() if now.partition_epoch != decided[tp].partition_epoch}
            self._context.set_leadership(others)
            changed += others
        return changed

    async def _read(self, tps: Iterable[TopicPartition]) -> AsyncIterator[States]:
        async for some in Pieces(tps, READ_AT_ONCE):
            nodes = await self._store.get_many([state_path(tp) for tp in some])
            async for piece in Pieces(zip(some, nodes, strict=True)):
                found = ((tp, self._understood(tp, node)) for tp, node in piece if node is not None)
                yield {tp: state for tp, state in found if isinstance(state, LeaderAndIsr)}

    async def create(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> Changed:
        """Of new partitions, with the znodes above them. Raises FencedError."""
        if not states:
            return Changed()
        await self._holds.reach(BEFORE_STATE_WRITE)
        above = {tp.topic: state_parents(tp)[0] async for piece in Pieces(states) for tp in piece}
        await self._write([Create(path) for topic, path in above.items() if not self._context.has_leadership(topic)])
        await self._write([Create(state_parents(tp)[1]) async for piece in Pieces(states) for tp in piece])
        ops = [
            Create(state_path(tp), encode_state(state)) async for piece in Pieces(states.items()) for tp, state in piece
        ]
        changed = await self._sort_out(states, await self._write(ops))
        changed.refused.update(dict.fromkeys(changed.stale, Why.EXISTS))
        return changed

    def rewrite(self, tps: Iterable[TopicPartition]) -> Rewrite:
        """Of partitions that have a state; see there."""
        return Rewrite(self, tps)

    def known(self, tp: TopicPartition) -> LeaderAndIsr | None:
        return self._context.leadership.get(tp)

    async def compare_and_set(self, states: Mapping[TopicPartition, LeaderAndIsr]) -> Changed:
        """Once, by the partition epochs in `states`. Raises FencedError."""
        if not states:
            return Changed()
        await self._holds.reach(BEFORE_STATE_WRITE)
        ops = [
            SetData(state_path(tp), encode_state(state), state.partition_epoch)
            async for piece in Pieces(states.items())
            for tp, state in piece
        ]
        return await self._sort_out(states, await self._write(ops))

    async def _sort_out(self, states: Mapping[TopicPartition, LeaderAndIsr], results: Sequence[WriteResult]) -> Changed:
        changed = Changed()
        async for piece in Pieces(zip(states.items(), results, strict=True)):
            self._take_over(piece, changed)
        return changed

    def _take_over(
        self, results: Iterable[tuple[tuple[TopicPartition, LeaderAndIsr], WriteResult]], changed: Changed
    ) -> None:
        """What came of these writes, into `changed` and the context."""
        there: States = {}
        for (tp, state), result in results:
            if isinstance(result, Written):
                there[tp] = changed.written[tp] = state.at(result.version)
            elif not isinstance(result, Stale):
                changed.refused[tp] = Why.TOO_BIG
            elif result.now is None:
                changed.refused[tp] = Why.VANISHED
            elif isinstance(found := self._understood(tp, result.now), LeaderAndIsr):
                there[tp] = found
                changed.stale.append(tp)
            else:
                changed.refused[tp] = found
        self._context.set_leadership(there)

    def _understood(self, tp: TopicPartition, node: Node) -> LeaderAndIsr | Why:
        """A state that this term may change; one of a newer controller is left alone."""
        try:
            state = decode_state(tp, node.data, node.stat.version)
        except CorruptZnodeError as bad:
            self._record(ControllerEventFailed(event="read state", error=str(bad)))
            return Why.NO_STATE
        return state if state.controller_epoch <= self._context.epoch else Why.SUPERSEDED

    async def _write(self, ops: Sequence[Create | SetData]) -> list[WriteResult]:
        """Fenced. Raises FencedError, and records what was refused."""
        try:
            return await self._store.write_each(ops, fence=await fence_of_states(self._context, self._store))
        except FencedError:
            paths = [op.path for op in ops[:PATHS_RECORDED]]
            self._record(ControllerFenced(epoch=self._context.epoch, paths=paths, count=len(ops)))
            raise


class Rewrite:
    """A change that is decided from the context and written, and decided anew for whoever was stale:

    while states := await rewrite.states():
        await rewrite.write(decided from states)
    """

    def __init__(self, znodes: StateZnodes, tps: Iterable[TopicPartition]) -> None:
        self.changed = Changed()
        """What came of it, once nobody is stale any more."""
        self._znodes, self._pending = znodes, tps

    async def states(self) -> States:
        """Those that are to be decided, as the context has them now; empty: it is done."""
        states: States = {}
        async for piece in Pieces(self._pending):
            for tp in piece:
                if (state := self._znodes.known(tp)) is None:
                    self.changed.refused[tp] = Why.NO_STATE
                else:
                    states[tp] = state
        self._pending = ()
        return states

    async def write(self, decided: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """Those of them that shall be otherwise. Raises FencedError."""
        written = await self._znodes.compare_and_set(decided)
        self.changed.written.update(written.written)
        self.changed.refused.update(written.refused)
        self._pending = written.stale

    async def read_again(self, decided: Mapping[TopicPartition, LeaderAndIsr]) -> None:
        """Of those that need no write, which would tell: whoever somebody has changed unseen is decided anew."""
        self._pending = [*self._pending, *await self._znodes.load_changed(decided)]
