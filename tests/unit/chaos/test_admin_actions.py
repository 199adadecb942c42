"""Admin actions: one class is a campaign's entry, what the generator draws, and a method of kcluster."""

from __future__ import annotations

import json
import random  # noqa: TID251 - any stream will do
from dataclasses import replace
from pathlib import Path

import pytest

from kcontroller_chaos.admin import (
    ACTIONS,
    AdminAction,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    Reassign,
    Situation,
)
from kcontroller_chaos.campaign.actions import Action
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.actions import keys_of
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.fixtures.kcluster import KCluster

HEAD = '[campaign]\nname = "x"\nduration_s = 20\n'
ENTRY = '[[workload]]\nkind = "admin"\naction = "{}"\nat_s = 1\n'
SOME = Situation(number=7, nodes=3, up=2, topics={"a": 2, "b": 4}, deleted=("c",))
SOME = replace(SOME, standing={"s": 3}, before=(Reassign(topic="a", partition=1, replicas=(0, 2)),))
SEEDS = range(50)


def drawn(kind: str, at: Situation = SOME) -> list[AdminAction]:
    return [ACTIONS[kind].drawn(at, random.Random(seed)) for seed in SEEDS]


@pytest.mark.parametrize("kind", ACTIONS)
def test_what_is_drawn_can_be_saved_written_and_asked_of_a_kcluster(kind: str) -> None:
    assert all(key.help for key in keys_of(kind))
    assert not {key.name for key in keys_of(kind)} & {"op", "action", "error", "kind", "at_s"}
    for does in drawn(kind):
        action = Action(id="one", does=does, stream="s", at_us=5)
        assert Action.of_entry(json.loads(json.dumps(action.entry)), load_catalogue()) == action
        assert does.wrong_on(SOME.nodes) is None
    assert callable(getattr(KCluster, kind))


def test_a_file_names_actions_and_their_keys(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    made, gone = (ENTRY.format(kind) + 'topic = "t"\n' for kind in ("create_topic", "delete_topic"))
    file.write_text(HEAD + made + gone)
    campaign = load_campaign(file)
    assert [spec.does for spec in campaign.workload] == [CreateTopic(topic="t"), DeleteTopic(topic="t")]
    assert campaign.partitions == {"t": 1}, "what the file makes, whether it deletes it again or not"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ENTRY.format("delete_topik"), "campaign.toml:6: `workload.action`: 'delete_topik' is not known\n  -> did you"),
        (ENTRY.format("delete_topic"), "`workload.topic`: the key `topic` is missing"),
        (ENTRY.format("delete_topic") + 'topic = "t"\npartitions = 2\n', "delete_topic has no key `partitions`"),
        (ENTRY.format("delete_topic") + 'topik = "t"\n', "there is no key `topik`\n  -> did you mean `topic`"),
        (ENTRY.format("delete_topic") + "topic = 3\n", "3 is not a text"),
        (ENTRY.format("create_topic") + 'topic = "t"\nreplication_factor = 4\n', "4 replicas do not fit on 3 nodes"),
        (ENTRY.format("reassign") + 'topic = "t"\nreplicas = [0, 3]\n', "there is no node 3"),
        (ENTRY.format("reassign") + 'topic = "t"\nreplicas = [1, 1]\n', "[1, 1] names a node twice"),
        (ENTRY.format("add_node") + "partitions = 2\n", "add_node has no key `partitions`\n  -> there are: none"),
        (ENTRY.format("create_topic").replace("at_s = 1\n", ""), "the key `at_s` is missing"),
    ],
)
def test_a_wrong_entry_is_named_with_line_and_key(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(HEAD + text)
    with pytest.raises(UsageError) as refused:
        load_campaign(file)
    assert says in str(refused.value)
    assert "campaign.toml:" in str(refused.value)


def test_partitions_of_all_topics_are_reassigned_and_the_last_is_cancelled_most_often() -> None:
    asked = [one for one in drawn("reassign") if isinstance(one, Reassign)]
    assert {one.topic for one in asked} == {"a", "b", "s"}
    assert {one.whole_topic for one in asked} == {True, False}
    assert {node for one in asked for node in one.replicas} == {0, 1, 2}, "dead ones too"
    last = asked[0]
    cancelled = [CancelReassignment.drawn(replace(SOME, before=(*SOME.before, last)), random.Random(s)) for s in SEEDS]
    of_last = [(one.topic, one.partition) == (last.topic, last.partition) for one in cancelled]
    assert len(SEEDS) > sum(of_last) > len(SEEDS) / 2
    assert not CancelReassignment.possible(replace(SOME, before=()))


def test_a_topic_is_deleted_once_there_is_one_and_may_be_made_again() -> None:
    nothing = Situation(number=0, nodes=3, up=3)
    assert not DeleteTopic.possible(nothing)
    assert {one.parameters["topic"] for one in drawn("delete_topic")} == {"a", "b"}
    assert {one.parameters["topic"] for one in drawn("create_topic")} == {"drawn-7", "c"}
    assert max(one.parameters["replication_factor"] for one in drawn("create_topic")) == SOME.up
    assert DeleteTopic(topic="a").topics_after(SOME.topics) == {"b": 4}
    assert CreateTopic(topic="c", partitions=3).topics_after(SOME.topics) == {"a": 2, "b": 4, "c": 3}
