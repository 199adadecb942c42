"""Draws faults and admin actions from the seed. Pure: the times come from one stream, each action from one of its own."""

from __future__ import annotations

import random  # noqa: TID251 - the type only; streams come from the runtime
from collections.abc import Sequence

from kcontroller_chaos.actions import ADMIN, FAULT, Action
from kcontroller_chaos.campaign import GeneratorSpec, TopicSpec
from kcontroller_chaos.faults import kinds
from kcontroller_chaos.keys import POINTS
from pytest_kcontroller.runtime.rng import NamedRng

STREAM = "schedule/generator"
MOST_PARTITIONS, MOST_REPLICAS = 6, 3
MOST_WRITES, MOST_REQUESTS = 4, 12
"""A drawn crash point is at most so far ahead ..."""
LONGEST_WAIT_US = 4_000_000
"""... and counts for at most so long, as one of the faults that go on."""


def generate(
    spec: GeneratorSpec, topics: Sequence[TopicSpec], duration_s: float, nodes: int, rng: NamedRng
) -> list[Action]:
    """In the order of time. No drawn fault lasts into the last `heal_before_end_s`, as far as that is in its hands."""
    times = rng.stream(STREAM)
    end_us = _us(duration_s - spec.heal_before_end_s)
    actions: list[Action] = []
    ends: list[int] = []
    """When the faults that go on are over."""
    at_us = 0
    while True:
        at_us += _between(times, spec.every_s)
        ends = [end for end in ends if end > at_us]
        if len(ends) == spec.max_concurrent:
            at_us = min(ends)
            ends.remove(at_us)
        if at_us > end_us:
            return actions
        stream = f"{STREAM}-{len(actions)}"
        draw = rng.stream(stream)
        chosen = draw.choice((*spec.faults, *spec.admin))
        if chosen in spec.admin:
            actions.append(_admin(chosen, len(actions), stream, at_us, nodes, draw))
            continue
        action = _fault(spec, chosen, len(actions), stream, at_us, end_us, topics, draw)
        ends.append(at_us + (action.within_us or 0) + (action.duration_us or 0))
        actions.append(action)


def _admin(kind: str, number: int, stream: str, at_us: int, nodes: int, draw: random.Random) -> Action:
    arguments = {
        "topic": f"drawn-{number}",
        "partitions": draw.randint(1, MOST_PARTITIONS),
        "replication_factor": draw.randint(1, min(MOST_REPLICAS, nodes)),
    }
    return Action(id=f"drawn-{number}", what=ADMIN, kind=kind, stream=stream, at_us=at_us, parameters=arguments)


def _fault(
    spec: GeneratorSpec,
    name: str,
    number: int,
    stream: str,
    at_us: int,
    end_us: int,
    topics: Sequence[TopicSpec],
    draw: random.Random,
) -> Action:
    kind, _, mode = name.partition(":")
    fault = kinds()[kind]
    target = draw.choice(spec.targets)
    if target == "leader":
        topic = draw.choice(topics)
        target = f"leader-of:{topic.name}-{draw.randrange(topic.partitions)}"
    duration_us = min(_between(draw, spec.lasting_s), end_us - at_us)
    when = within_us = None
    if draw.random() < spec.crash_points:
        target = draw.choice(("any", target))
        point = draw.choice(POINTS)
        when = f"{point}:{draw.randint(1, MOST_REQUESTS if point == POINTS[-1] else MOST_WRITES)}"
        within_us = min(end_us - at_us - duration_us, LONGEST_WAIT_US)
    return Action(
        id=f"drawn-{number}",
        what=FAULT,
        kind=kind,
        stream=stream,
        mode=mode or (fault.modes[0] if fault.modes else None),
        target=target,
        at_us=at_us,
        when=when,
        duration_us=duration_us,
        within_us=within_us,
        if_possible=True,
        parameters=fault.drawn(draw),
    )


def _between(draw: random.Random, limits: tuple[float, float]) -> int:
    return draw.randint(_us(limits[0]), _us(limits[1]))


def _us(seconds: float) -> int:
    return round(seconds * 1_000_000)
