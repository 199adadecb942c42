"""Draws faults and admin actions from the seed. Pure: the times come from one stream, each action from one of its own.

Short and long are both of interest, so lengths are drawn by their order of magnitude (log-uniformly). A crash point comes
with something that makes nodes write: the next action follows it at once. So it does after a fault that lies in wait.
"""

from __future__ import annotations

import math
import random  # noqa: TID251 - the type only; streams come from the runtime
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kcontroller_chaos.admin import ACTIONS, AdminAction, CreateTopic, Situation
from kcontroller_chaos.campaign.actions import FAULT, Action
from kcontroller_chaos.campaign.file import Campaign
from kcontroller_chaos.campaign.specs import GeneratorSpec
from kcontroller_chaos.catalogue.placement import POINTS
from kcontroller_chaos.catalogue.zookeeper import default_target
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.foreign import without_power
from pytest_kcontroller.runtime.rng import NamedRng

STREAM = "schedule/generator"
DOWN = "kill"
"""The fault of a node that is down."""
MEAN_WRITES, MEAN_REQUESTS = 2, 5
"""A drawn crash point is so far ahead on the average, most often at the very next one (geometric) ..."""
LONGEST_WAIT_US = 4_000_000
"""... and counts for at most so long, as one of the faults that go on."""
STILL_S = (0.001, 0.3)
"""So long a node stands still at a drawn crash point: the others may act meanwhile."""
PROVOKED_S = (0.001, 0.1)
"""From a crash point that begins to count to what makes it happen."""
ASKED = 0.7
"""What makes it happen is an admin action so often, if there are some; else another fault."""
REQUEST = "request"
RARE = tuple(point for point in POINTS if point.startswith("rare-"))
COUNTED = tuple(point for point in POINTS if point not in RARE)
RARELY = 0.6
"""So many of the crash points are at a write of a rare kind: what a node writes seldom is not met by counting."""
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
    nodes = campaign.cluster.nodes
    standing = {topic.name: topic.partitions for topic in campaign.topics}
    admin = _Admin(spec, nodes=nodes, up=nodes - len(actions), standing=standing)
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
        share = max(ASKED, admin_share) if provoke and spec.admin else admin_share
        if draw.random() < share and (asked := admin.draw(len(actions), draw)) is not None:
            actions.append(Action(id=f"drawn-{len(actions)}", does=asked, stream=stream, at_us=at_us))
            provoke = False
            continue
        chosen = draw.choice(spec.faults)
        kind = campaign.catalogue.named(chosen)
        at_point = not provoke and draw.random() < spec.crash_points
        at_point = at_point and not kind.on_zookeeper and not kind.may_miss  # that one lies in wait by itself
        action = _fault(campaign, spec, chosen, len(actions), stream, at_us, end_us, draw, at_point=at_point)
        provoke = at_point or (kind.may_miss and not provoke)
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
    """Some of the faults, targets and admin actions, so that seeds differ in what they are about and combinations of a few
    come up (swarm testing: Groce et al., ISSTA 2012). Crash points get at most their share."""
    names, targets, actions = set(spec.faults), sorted(set(spec.targets)), sorted(set(spec.admin))
    least = min(2, len(names))
    kept = _sample(spec.faults, draw.randint(least, max(least, len(names) // 2)), draw)
    spec = replace(
        spec,
        faults=tuple(name for name in spec.faults if name in kept),
        targets=tuple(draw.sample(targets, draw.randint(1, len(targets)))),
        crash_points=draw.uniform(0, spec.crash_points),
    )
    if len(actions) < 2:
        return spec
    asked = set(draw.sample(actions, draw.randint(1, len(actions))))
    return replace(spec, admin=tuple(name for name in spec.admin if name in asked or name == CreateTopic.kind))


def _sample(names: Sequence[str], count: int, draw: random.Random) -> set[str]:
    """So many different ones; one that stands there twice comes twice as easily."""
    return set(list(dict.fromkeys(draw.sample(sorted(names), len(names))))[:count])


def _down(campaign: Campaign, spec: GeneratorSpec, end_us: int, draw: random.Random) -> list[Action]:
    """In half of the seeds some of the nodes are down all the time: few others are there who could step in."""
    nodes, fault = campaign.cluster.nodes, campaign.catalogue.named(DOWN)
    if DOWN not in spec.faults or nodes == 1 or draw.random() < 0.5:
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


class _Admin:
    """Draws admin actions: each in the situation that the ones before it make."""

    def __init__(self, spec: GeneratorSpec, *, nodes: int, up: int, standing: Mapping[str, int]) -> None:
        self._kinds, self._nodes, self._up, self._standing = spec.admin, nodes, up, standing
        self._drawn: list[AdminAction] = []
        self._made: dict[str, None] = {}
        self._topics: dict[str, int] = {}

    def draw(self, number: int, draw: random.Random) -> AdminAction | None:
        """None: there is nothing yet that one of them could be asked for."""
        gone = tuple(name for name in self._made if name not in self._topics)
        at = Situation(
            number=number,
            nodes=self._nodes,
            up=self._up,
            topics=self._topics,
            deleted=gone,
            standing=self._standing,
            before=self._drawn,
        )
        if not (possible := [kind for kind in self._kinds if ACTIONS[kind].possible(at)]):
            return None
        action = ACTIONS[draw.choice(possible)].drawn(at, draw)
        self._topics = action.topics_after(self._topics)
        self._made |= dict.fromkeys(self._topics)
        self._drawn.append(action)
        return action


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
        point = draw.choice(RARE if draw.random() < RARELY else COUNTED)
        seldom = point != REQUEST and target != "controller"  # nodes that are not the controller hardly write
        target = "any" if target == "others" or seldom else draw.choice(("any", target))
        when = f"{point}:{_geometric(draw, MEAN_REQUESTS if point == REQUEST else MEAN_WRITES)}"
        still_us = _between(draw, STILL_S)
        within_us = min(max(0, end_us - at_us - duration_us - still_us), LONGEST_WAIT_US)
    kind = campaign.catalogue.named(name)
    if kind.on_zookeeper or kind.of_controller:
        target = default_target(kind)
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
        fault = without_power(lambda: kind.drawn(draw))
    except (Exception, SystemExit) as failed:
        raise UsageError(f"the fault {name!r} of the plugin {plugin} cannot be drawn: {shown(failed)}") from failed
    if not isinstance(fault, kind):
        raise UsageError(f"the fault {name!r} of the plugin {plugin} cannot be drawn: it gave {shown(fault)}")
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
