"""Every index of the context against a recount, after random operations."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pytest_kcontroller.controller.context import Context
from pytest_kcontroller.controller.transitions import PartitionState, ReplicaState
from pytest_kcontroller.model.cluster import NO_LEADER, Address, Assignment, Broker, LeaderAndIsr, TopicPartition

BROKERS = range(4)
brokers = st.sampled_from(BROKERS)
topics = st.sampled_from(["a", "b", "c", "d.e"])
assignments = st.lists(brokers, min_size=1, max_size=3, unique=True).map(lambda replicas: Assignment(tuple(replicas)))
partitions = st.dictionaries(st.integers(0, 12), assignments, min_size=1, max_size=4)


class AnyContext(RuleBasedStateMachine):
    """The plain facts are kept beside the context in dictionaries; an index that was forgotten differs from them."""

    def __init__(self) -> None:
        super().__init__()
        self.context = Context(3, 2)
        self.registered: dict[int, Broker] = {}
        self.leaving: set[int] = set()
        self.ids: dict[str, str | None] = {}
        self.assigned: dict[TopicPartition, Assignment] = {}
        self.leaders: dict[TopicPartition, LeaderAndIsr] = {}
        self.states: dict[TopicPartition, PartitionState] = {}
        self.replicas: dict[tuple[TopicPartition, int], ReplicaState] = {}

    @rule(number=brokers, epoch=st.integers(1, 5))
    def register(self, number: int, epoch: int) -> None:
        broker = Broker(id=number, address=Address("127.0.0.1", 9000 + number), epoch=epoch)
        self.context.register(broker)
        self.registered[number] = broker

    @rule(number=brokers)
    def unregister(self, number: int) -> None:
        self.context.unregister(number)
        self.registered.pop(number, None)
        self.leaving.discard(number)

    @rule(number=brokers)
    def begin_shutdown(self, number: int) -> None:
        if number in self.registered:
            self.context.begin_shutdown(number)
            self.leaving.add(number)

    @rule(topic=topics, topic_id=st.sampled_from([None, "1", "2"]))
    def add_topic(self, topic: str, topic_id: str | None) -> None:
        topic_id = topic_id and f"{topic}{topic_id}"
        self.context.add_topic(topic, topic_id)
        self.ids[topic] = topic_id

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), added=partitions)
    def assign(self, data: st.DataObject, added: Mapping[int, Assignment]) -> None:
        topic = data.draw(st.sampled_from(sorted(self.ids)))
        assigned = self.context.assign(topic, added)
        assert list(assigned) == [TopicPartition(topic, number) for number in sorted(added)]
        self.assigned |= {TopicPartition(topic, number): assignment for number, assignment in added.items()}

    @rule(topic=topics)
    def drop_topic(self, topic: str) -> None:
        self.context.drop_topic(topic)
        self.ids.pop(topic, None)
        for kept in (self.assigned, self.leaders, self.states):
            for tp in [tp for tp in kept if tp.topic == topic]:
                del kept[tp]
        self.replicas = {replica: state for replica, state in self.replicas.items() if replica[0].topic != topic}

    @precondition(lambda self: self.assigned)
    @rule(data=st.data(), leader=st.sampled_from([NO_LEADER, *BROKERS]), epoch=st.integers(0, 9))
    def set_leadership(self, data: st.DataObject, leader: int, epoch: int) -> None:
        state = LeaderAndIsr(leader=leader, leader_epoch=epoch, isr=(leader,), controller_epoch=3)
        states = dict.fromkeys(self.some(data), state)
        self.context.set_leadership(states)
        self.leaders |= states

    @precondition(lambda self: self.assigned)
    @rule(data=st.data(), state=st.sampled_from(PartitionState))
    def set_partition_state(self, data: st.DataObject, state: PartitionState) -> None:
        tps = self.some(data)
        self.context.set_partition_state(tps, state)
        self.states |= dict.fromkeys(tps, state)

    @precondition(lambda self: self.assigned)
    @rule(data=st.data(), number=brokers, state=st.sampled_from(ReplicaState))
    def set_replica_state(self, data: st.DataObject, number: int, state: ReplicaState) -> None:
        tps = self.some(data)
        self.context.set_replica_state(number, tps, state)
        self.replicas |= {(tp, number): state for tp in tps}

    def some(self, data: st.DataObject) -> list[TopicPartition]:
        return data.draw(st.lists(st.sampled_from(sorted(self.assigned)), max_size=5, unique=True))

    @invariant()
    def brokers_agree(self) -> None:
        context = self.context
        assert context.brokers == self.registered
        assert context.registered_ids() == tuple(sorted(self.registered))
        for number in BROKERS:
            assert context.live(number) == (number in self.registered and number not in self.leaving)
            assert context.shutting_down(number) == (number in self.leaving)

    @invariant()
    def topics_agree(self) -> None:
        context = self.context
        assert list(context.topics()) == sorted(self.ids)
        assert context.assignments == self.assigned
        assert list(context.partitions()) == sorted(self.assigned)
        for topic in ("a", "b", "c", "d.e"):
            assert context.has_topic(topic) == (topic in self.ids)
            assert context.topic_id(topic) == self.ids.get(topic)
            assert context.partitions_of(topic) == tuple(sorted(tp for tp in self.assigned if tp.topic == topic))
            for number in "12":
                named = self.ids.get(topic) == f"{topic}{number}"
                assert context.topic_of_id(f"{topic}{number}") == (topic if named else None)

    @invariant()
    def replicas_agree(self) -> None:
        hosted = {
            number: sorted(tp for tp, assignment in self.assigned.items() if number in assignment.replicas)
            for number in BROKERS
        }
        assert {number: self.context.hosted_by(number) for number in BROKERS} == hosted
        assert self.context.hosts() == [number for number, tps in hosted.items() if tps]
        assert self.context.replicas_on([3, 1]) == {number: hosted[number] for number in (1, 3) if hosted[number]}
        for tp in self.assigned:
            for number in BROKERS:
                expected = self.replicas.get((tp, number), ReplicaState.NON_EXISTENT)
                assert self.context.replica_state(tp, number) is expected

    @invariant()
    def leaders_agree(self) -> None:
        context = self.context
        led: dict[int, list[TopicPartition]] = {}
        for tp, state in sorted(self.leaders.items()):
            led.setdefault(state.leader, []).append(tp)
        assert context.leadership == self.leaders
        assert {number: context.led_by(number) for number in (NO_LEADER, *BROKERS) if context.led_by(number)} == led
        assert context.leader_counts() == {number: len(tps) for number, tps in led.items()}
        nobody = sorted(tp for tp, state in self.leaders.items() if not context.live(state.leader))
        assert context.led_by_nobody_live() == nobody

    @invariant()
    def states_agree(self) -> None:
        context = self.context
        for tp in self.assigned:
            assert context.partition_state(tp) is self.states.get(tp, PartitionState.NON_EXISTENT)
        known = [state for state in PartitionState if state is not PartitionState.NON_EXISTENT]
        for state in known:
            assert context.partitions_in(state) == sorted(tp for tp, now in self.states.items() if now is state)
            assert context.count_in(state) == len(context.partitions_in(state))
        assert context.partitions_in(*known) == sorted(tp for tp, now in self.states.items() if now in known)
        assert context.offline_partition_count == context.count_in(PartitionState.OFFLINE)


TestAnyContext = AnyContext.TestCase
