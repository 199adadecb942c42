"""Draws faults and admin actions from the seed. Pure: the times come from one stream, each action from one of its own.

Short and long are both of interest, so lengths are drawn by their order of magnitude (log-uniformly). A crash point comes
with something that makes nodes write: the next action follows it at once.
"""

from __future__ import annotations

import math
import random  # noqa: TID251 - the type only; streams come from the runtime
from collections.abc import Sequence
from dataclasses import replace

from kcontroller_chaos.campaign.actions import FAULT, Action, CreateTopic
from kcontroller_chaos.campaign.file import Campaign, GeneratorSpec
from kcontroller_chaos.catalogue.placement import POINTS
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.runtime.rng import NamedRng

STREAM = "schedule/generator"
MOST_PARTITIONS, MOST_REPLICAS = 6, 3
DOWN = "kill"
"""The fault of a node that is down."""
WITHOUT_ID = 0.3
"""So many of the drawn topics come from a tool before Kafka 2.8."""
MEAN_WRITES, MEAN_REQUESTS = 2, 5
"""A drawn crash point is so far ahead on the average, most often at the very next one (geometric) ..."""
LONGEST_WAIT_US = 4_000_000
"""... and counts for at most so long, as one of the faults that go on."""
STILL_S = (0.0001, 0.1)
"""So long a node stands still at a drawn crash point: the others may act meanwhile."""
PROVOKED_S = (0.001, 0.1)
"""From a crash point that begins to count to what makes it happen."""
LEAST_US = 100
"""The shortest length of those that may be 0."""


def generate(campaign: Campaign, spec: GeneratorSpec, rng: NamedRng) -> list[Action]:
    """In the order of time. No drawn fault lasts into the last `heal_before_end_s`, as far as that is in its hands."""
    times = rng.stream(STREAM)
    admin_share = len(spec.admin) / len((*spec.faults, *spec.admin))
    end_us = _us(campaign.duration_s - spec.heal_before_end_s)
    actions: list[Action] = []
    if spec.swarm:
        actions += _down(campaign, spec, end_us, times)
        spec = _swarm(spec, times)
    up = campaign.cluster.nodes - len(actions)
    ends: list[int] = []
    """When the faults that go on are over."""
    at_us, provoke = 0, False
    while True:
        at_us += _between(times, PROVOKED_S if provoke else spec.every_s)
        ends = [end for end in ends if end > at_us]
        if len(ends) >= spec.max_concurrent and not provoke:
            at_us = sorted(ends)[-spec.max_concurrent]
            ends = [end for end in ends if end > at_us]
        if at_us > end_us:
            return actions
        stream = f"{STREAM}-{len(actions)}"
        draw = rng.stream(stream)
        if draw.random() < admin_share:
            actions.append(_admin(draw.choice(spec.admin), len(actions), stream, at_us, up, draw))
            provoke = False
            continue
        chosen = draw.choice(spec.faults)
        at_point = not provoke and draw.random() < spec.crash_points
        action = _fault(campaign, spec, chosen, len(actions), stream, at_us, end_us, draw, at_point=at_point)
        provoke = at_point
        ends.append(at_us + (action.within_us or 0) + (action.duration_us or 0))
        actions.append(action)


def no_room(campaign: Campaign, actions: Sequence[Action]) -> str:
    """Why the generator drew no fault among these actions of a seed; empty: it drew some, or there is none."""
    drawn = [action for action in actions if action.stream.startswith(STREAM)]
    if (spec := campaign.generator) is None or any(action.what == FAULT for action in drawn):
        return ""
    if drawn:
        return f"the generator drew no fault for this seed: its {len(drawn)} actions are operations"
    least, most = spec.every_s
    end_s = max(0, campaign.duration_s - spec.heal_before_end_s)
    return (
        f"the generator found no room: its first action comes {least:g} to {most:g} s after the start (every_s), and none "
        f"comes after {end_s:g} s (duration_s = {campaign.duration_s:g} less heal_before_end_s = {spec.heal_before_end_s:g})"
    )


def _swarm(spec: GeneratorSpec, draw: random.Random) -> GeneratorSpec:
    """Some of the faults and targets, so that seeds differ in what they are about and combinations of a few come up (swarm
    testing: Groce et al., ISSTA 2012). Crash points get at most their share."""
    faults, targets = sorted(set(spec.faults)), sorted(set(spec.targets))
    least = min(2, len(faults))
    kept = set(draw.sample(faults, draw.randint(least, max(least, len(faults) // 2))))
    return replace(
        spec,
        faults=tuple(name for name in spec.faults if name in kept),
        targets=tuple(draw.sample(targets, draw.randint(1, len(targets)))),
        crash_points=draw.uniform(0, spec.crash_points),
    )


def _down(campaign: Campaign, spec: GeneratorSpec, end_us: int, draw: random.Random) -> list[Action]:
    """In half of the seeds some of the nodes are down all the time: few others are there who could step in."""
    nodes, fault = campaign.cluster.nodes, campaign.catalogue.named(DOWN)
    if not {DOWN, f"{DOWN}:{fault.mode}"} & set(spec.faults) or nodes == 1 or draw.random() < 0.5:
        return []
    up = math.floor(math.exp(draw.uniform(0, math.log(nodes))))  # by order of magnitude: 1 to nodes - 1
    down = draw.sample(range(nodes), nodes - min(up, nodes - 1))
    return [
        Action(
            id=f"drawn-{number}",
            does=fault(),
            stream=f"{STREAM}-{number}",
            target=f"node:{node}",
            at_us=0,
            duration_us=end_us,
            if_possible=True,
        )
        for number, node in enumerate(sorted(down))
    ]


def _admin(kind: str, number: int, stream: str, at_us: int, up: int, draw: random.Random) -> Action:
    """`up` nodes are not down all the time: a topic of more replicas would be refused for sure."""
    assert kind == CreateTopic.kind, kind
    topic = CreateTopic(
        topic=f"drawn-{number}",
        partitions=draw.randint(1, MOST_PARTITIONS),
        replication_factor=draw.randint(1, min(MOST_REPLICAS, up)),
        topic_id=draw.random() >= WITHOUT_ID,
    )
    return Action(id=f"drawn-{number}", does=topic, stream=stream, at_us=at_us)


def _fault(
    campaign: Campaign,
    spec: GeneratorSpec,
    name: str,
    number: int,
    stream: str,
    at_us: int,
    end_us: int,
    draw: random.Random,
    *,
    at_point: bool,
) -> Action:
    target = draw.choice(spec.targets)
    if target == "leader":
        topic = draw.choice(campaign.topics)
        target = f"leader-of:{topic.name}-{draw.randrange(topic.partitions)}"
    duration_us = min(_between(draw, spec.lasting_s), end_us - at_us)
    when, within_us, still_us = None, None, 0
    if at_point:
        target = "any" if target == "others" else draw.choice(("any", target))
        point = draw.choice(POINTS)
        when = f"{point}:{_geometric(draw, MEAN_REQUESTS if point == POINTS[-1] else MEAN_WRITES)}"
        still_us = _between(draw, STILL_S)
        within_us = min(max(0, end_us - at_us - duration_us - still_us), LONGEST_WAIT_US)
    return Action(
        id=f"drawn-{number}",
        does=_drawn(campaign, name, draw),
        stream=stream,
        target=target,
        at_us=at_us,
        when=when,
        duration_us=duration_us,
        still_us=still_us,
        within_us=within_us,
        if_possible=True,
    )


def _drawn(campaign: Campaign, name: str, draw: random.Random) -> Fault:
    """Raises UsageError: the kind, a plugin's perhaps, cannot draw one."""
    kind = campaign.catalogue.named(name)
    plugin = campaign.catalogue.kind(kind.kind).plugin
    try:
        fault = kind.drawn(draw)
    except Exception as failed:
        raise UsageError(f"the fault {name!r} of the plugin {plugin} cannot be drawn: {failed!r}") from failed
    if not isinstance(fault, kind):
        raise UsageError(f"the fault {name!r} of the plugin {plugin} cannot be drawn: it gave {fault!r}")
    return fault


def _between(draw: random.Random, limits: tuple[float, float]) -> int:
    """In microseconds, by order of magnitude."""
    least_us, most_us = (max(LEAST_US, _us(limit)) for limit in limits)
    return round(math.exp(draw.uniform(math.log(least_us), math.log(most_us))))


def _geometric(draw: random.Random, mean: int) -> int:
    """1, 2, 3, ... each less likely than the one before."""
    return 1 + int(math.log(1 - draw.random()) / math.log(1 - 1 / mean))


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)
