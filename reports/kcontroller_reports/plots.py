"""The pictures of a report: the timeline of a run, and how long recoveries took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from kcontroller_reports.drawing import (
    LINE,
    PAGE,
    SOFT,
    TEXT,
    VIOLATED,
    Kinds,
    figure,
    node_colour,
    svg,
)
from kcontroller_reports.timelines import Fault, Session, Span, Timeline
from kcontroller_reports.words import short

_WIDTH, _LEFT, _ROW = 10.8, 1.75, 0.215  # inches
_LETTER = 0.068  # inches, an average one
_MOST_PARTITIONS, _MOST_NODES, _MOST_FAULT_ROWS = 12, 6, 6
_LEAST_LETTERS = 8


# --- the timeline of a run --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Lane:
    """A row of the picture; `y` is its middle."""

    label: str
    y: float


class FaultPlaces:
    """Where in the picture's width bars and labels of faults are; times in microseconds of the run."""

    def __init__(self, from_us: int, to_us: int) -> None:
        self.from_us, self.to_us = from_us, max(to_us, from_us + 1)
        self.inch_us = (self.to_us - self.from_us) / (_WIDTH - _LEFT - 0.15)

    def bar(self, fault: Fault) -> tuple[float, float]:
        begin, end = max(fault.from_us, self.from_us), min(fault.to_us, self.to_us)
        return begin, max(end, begin + self.inch_us * 0.012)

    def label(self, fault: Fault) -> tuple[str, bool]:
        """As much of it as there is room for, and whether it stands on the bar's right."""
        begin, end = self.bar(fault)
        text = fault_label(fault)
        left_in, right_in = (begin - self.from_us) / self.inch_us, (self.to_us - end) / self.inch_us
        right = right_in > len(text) * _LETTER or right_in >= left_in
        return short(text, max(_LEAST_LETTERS, int((right_in if right else left_in) / _LETTER))), right

    def place(self, faults: Sequence[Fault]) -> list[tuple[int, bool]]:
        """The row of each fault, and whether its label is written: nothing overlaps a label. What is too much is in the
        last row, without labels."""
        taken: list[list[tuple[float, float]]] = []
        placed = []
        for fault in faults:
            begin, end = self.bar(fault)
            text, right = self.label(fault)
            width = (len(text) * _LETTER + 0.2) * self.inch_us
            mine = (begin, end + width) if right else (begin - width, end)
            free = [row for row, spans in enumerate(taken) if all(mine[1] <= a or b <= mine[0] for a, b in spans)]
            if not free and len(taken) < _MOST_FAULT_ROWS:
                free, taken = [len(taken)], [*taken, []]
            row = free[0] if free else _MOST_FAULT_ROWS - 1
            taken[row].append(mine if free else (begin, end))
            placed.append((row, bool(free)))
        return placed


class _Gantt(FaultPlaces):
    """Rows from top to bottom, in seconds of the run."""

    def __init__(self, axes: Axes, from_us: int, to_us: int) -> None:
        super().__init__(from_us, to_us)
        self.axes = axes

    def seen(self, span: Span) -> bool:
        return span.to_us >= self.from_us and span.from_us <= self.to_us

    def block(
        self,
        lane: _Lane,
        span: Span,
        fill: str,
        text: str = "",
        *,
        hatch: str = "",
        edge: str = PAGE,
        height: float = 0.78,
    ) -> None:
        begin, end = max(span.from_us, self.from_us), min(span.to_us, self.to_us)
        width = max(end - begin, self.inch_us * 0.012) / 1e6
        box = Rectangle(
            (begin / 1e6, lane.y - height / 2),
            width,
            height,
            facecolor=fill,
            edgecolor=edge,
            hatch=hatch or None,
            linewidth=0.7,
        )
        self.axes.add_patch(box)
        if text and width * 1e6 / self.inch_us > len(text) * _LETTER + 0.06:
            behind = {"facecolor": PAGE, "edgecolor": "none", "pad": 0.6} if hatch else None
            self.axes.text(
                begin / 1e6 + width / 2, lane.y, text, ha="center", va="center_baseline", fontsize=7.5, bbox=behind
            )  # fmt: skip

    def disagreement(self, top: _Lane, bottom: _Lane, from_us: int, to_us: int) -> None:
        """Somebody does not know yet: a frame around what it still believes."""
        if to_us <= from_us or to_us < self.from_us or from_us > self.to_us:
            return
        begin, end = max(from_us, self.from_us), min(to_us, self.to_us)
        corner = (begin / 1e6, min(top.y, bottom.y) - 0.46)
        height = abs(top.y - bottom.y) + 0.92
        frame = Rectangle(
            corner, (end - begin) / 1e6, height, facecolor="none", edgecolor=VIOLATED, linewidth=1.4, zorder=5
        )
        self.axes.add_patch(frame)

    def fault(self, lane: _Lane, fault: Fault, kinds: Kinds, *, named: bool) -> None:
        begin, least = self.bar(fault)
        colour = kinds.colour(fault.kind)
        self.axes.axvspan(begin / 1e6, least / 1e6, facecolor=colour, alpha=0.16, linewidth=0, zorder=0)
        self.block(lane, Span(int(begin), int(least)), colour, hatch=kinds.hatch(fault.kind), edge=TEXT)
        if fault.observed_us is not None and self.from_us <= fault.observed_us <= self.to_us:
            self.axes.plot(
                [fault.observed_us / 1e6], [lane.y], marker="|", color=TEXT, markersize=11, markeredgewidth=1.6
            )
        if not named:
            return
        text, right = self.label(fault)
        place, side = (least / 1e6, "left") if right else (begin / 1e6, "right")
        shift = self.inch_us * 0.05 / 1e6 * (1 if right else -1)
        self.axes.text(place + shift, lane.y, text, ha=side, va="center_baseline", fontsize=7.5, zorder=6)


def fault_label(fault: Fault) -> str:
    kind = f"{fault.kind}:{fault.mode}" if fault.mode else fault.kind
    name = kind if fault.id in (fault.kind, kind) else f"{short(fault.id, 24)}, {kind}"
    return short(name if fault.node is None else f"{name} (node {fault.node})", 48)


def timeline_svg(
    timeline: Timeline,
    kinds: Kinds,
    *,
    label: str,
    from_us: int | None = None,
    to_us: int | None = None,
    at_us: int | None = None,
) -> str:
    """Faults, controllers, leaders and both views of each session from `from_us` to `to_us`; `at_us`: the witness."""
    begin = timeline.from_us if from_us is None else from_us
    end = timeline.to_us if to_us is None else min(to_us, timeline.to_us)
    faults = [fault for fault in timeline.faults if fault.to_us >= begin and fault.from_us <= end]
    placed = FaultPlaces(begin, end).place(faults)
    rows = 1 + max((row for row, _ in placed), default=-1)
    partitions = sorted({span.partition for span in timeline.leaders}, key=_natural)
    nodes = sorted({span.node for span in timeline.sessions if span.node is not None})
    acting = sorted({span.node for span in timeline.controllers if span.view == "node" and span.node is not None})
    groups = [
        ("FAULTS", [""] * rows),
        ("CONTROLLER", ["ZooKeeper: /controller", *[f"node {node} acts as it" for node in acting[:_MOST_NODES]]]),
        ("LEADERS", [short(name, 26) for name in partitions[:_MOST_PARTITIONS]]),
        ("SESSIONS", [f"node {node}: {view}" for node in nodes[:_MOST_NODES] for view in ("ZooKeeper", "client")]),
    ]
    lanes, height = _lanes(groups)
    with figure(_WIDTH, height * _ROW + 0.6, left=_LEFT) as axes:
        axes.set_xlim(begin / 1e6, max(end, begin + 1) / 1e6)
        axes.set_ylim(-height, 0)
        gantt = _Gantt(axes, begin, end)  # how the run is taken down after its end is not drawn
        _label_lanes(axes, groups, lanes)
        for fault, (row, named) in zip(faults, placed, strict=True):
            gantt.fault(lanes["FAULTS"][row], fault, kinds, named=named)
        _draw_controllers(gantt, timeline, lanes["CONTROLLER"], acting)
        _draw_leaders(gantt, timeline, lanes["LEADERS"], partitions)
        _draw_sessions(gantt, timeline, lanes["SESSIONS"], nodes)
        if at_us is not None:
            axes.axvline(at_us / 1e6, color=VIOLATED, linewidth=1.2, linestyle=(0, (4, 2)), zorder=7)
        axes.set_xlabel("seconds from the run's start", fontsize=8)
        return svg(axes, label=label)


def _lanes(groups: Sequence[tuple[str, list[str]]]) -> tuple[dict[str, list[_Lane]], float]:
    lanes: dict[str, list[_Lane]] = {}
    y = 0.15
    for name, labels in groups:
        lanes[name] = []
        y += 0.9 if labels else 0
        for label in labels:
            lanes[name].append(_Lane(label, -(y + 0.5)))
            y += 1
        y += 0.1 if labels else 0
    return lanes, y + 0.2


def _label_lanes(axes: Axes, groups: Sequence[tuple[str, list[str]]], lanes: Mapping[str, list[_Lane]]) -> None:
    every = [lane for name, _ in groups for lane in lanes[name]]
    axes.set_yticks([lane.y for lane in every], [lane.label for lane in every])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=LINE, linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)
    for name, labels in groups:
        if labels:
            place = (-_LEFT / (_WIDTH - _LEFT - 0.15) + 0.005, lanes[name][0].y + 0.95)
            axes.text(
                *place,
                name,
                transform=axes.get_yaxis_transform(),
                fontsize=7,
                color=SOFT,
                va="center",
                fontweight="bold",
            )


def _draw_controllers(gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], acting: Sequence[int]) -> None:
    named = [span for span in timeline.controllers if span.view == "zookeeper"]
    for span in named:
        if gantt.seen(span):
            gantt.block(lanes[0], span, node_colour(span.node), f"node {span.node}, epoch {span.epoch}")
    for node, lane in zip(acting, lanes[1:], strict=False):
        for span in (span for span in timeline.controllers if span.view == "node" and span.node == node):
            if gantt.seen(span):
                gantt.block(lane, span, node_colour(node), f"epoch {span.epoch}", height=0.6)
            ends = [by.to_us for by in named if by.node == node and by.epoch == span.epoch]
            if ends:
                gantt.disagreement(lane, lane, max(ends), span.to_us)


def _draw_leaders(gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], partitions: Sequence[str]) -> None:
    place = dict(zip(partitions, lanes, strict=False))
    for span in timeline.leaders:
        lane = place.get(span.partition)
        if lane is None or not gantt.seen(span):
            continue
        if span.leader is None:
            gantt.block(lane, span, "none", "no leader", hatch="xxx", edge=VIOLATED)
        else:
            gantt.block(lane, span, node_colour(span.leader), f"node {span.leader}", edge=TEXT)


def _draw_sessions(gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], nodes: Sequence[int]) -> None:
    for index, node in enumerate(nodes[: len(lanes) // 2]):
        server, client = lanes[2 * index], lanes[2 * index + 1]
        mine = [span for span in timeline.sessions if span.node == node]
        gone = {span.session: span.to_us for span in mine if span.view == "zookeeper" and span.ended}
        for span in mine:
            if gantt.seen(span):
                _draw_session(gantt, server if span.view == "zookeeper" else client, span, node)
            if span.view == "client" and span.state != "expired" and span.session in gone:
                gantt.disagreement(server, client, max(gone[span.session], span.from_us), span.to_us)


def _draw_session(gantt: _Gantt, lane: _Lane, span: Session, node: int) -> None:
    if span.state == "suspended":
        gantt.block(lane, span, "none", "suspended", hatch="////", edge=SOFT)
    elif span.state == "expired":
        gantt.block(lane, span, "none", "expired", edge=VIOLATED)
    else:
        gantt.block(lane, span, node_colour(node), short(span.session, 20))
    if span.ended == "expired" and span.to_us <= gantt.to_us:
        gantt.axes.plot(
            [span.to_us / 1e6], [lane.y], marker="x", color=VIOLATED, markersize=5.5, markeredgewidth=1.6, zorder=6
        )


def _natural(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number) if number.isdigit() else 0


# --- recovery ---------------------------------------------------------------------------------------------------

_MOST_POINTS = 300
_LEAST_US = 1_000.0


def recovery_svg(times: Mapping[str, Sequence[float]], kinds: Kinds) -> str:
    """Each recovery as a point on a logarithmic axis, a row per kind and mode; a box from 5 values on."""
    rows = list(times.items())
    finite = [value for values in times.values() for value in values if not math.isinf(value)]
    low = max(min(finite, default=_LEAST_US), _LEAST_US) / 1e6
    high = max(max(finite, default=_LEAST_US), _LEAST_US) / 1e6
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high * 1.05))
    last = max(last, first + 1)
    endless = any(math.isinf(value) for values in times.values() for value in values)
    with figure(_WIDTH, len(rows) * 0.42 + 0.75, left=2.3) as axes:
        edge = 10.0**last
        axes.set_xscale("log")
        axes.set_xlim(10.0**first * 0.9, edge * (3 if endless else 1.1))
        axes.set_ylim(-len(rows) + 0.5, 0.5)
        for index, (name, values) in enumerate(rows):
            kind = name.partition(":")[0]
            _box(axes, -index, sorted(value for value in values if not math.isinf(value)), kinds, kind)
            points = _spread(sorted(values))
            heights = [-index + 0.24 * (number % 5 - 2) / 2 for number in range(len(points))]
            inner = [(max(p, _LEAST_US) / 1e6, h) for p, h in zip(points, heights, strict=True) if not math.isinf(p)]
            outer = [(edge * 2, h) for p, h in zip(points, heights, strict=True) if math.isinf(p)]
            for marker, places in (("o", inner), (">", outer)):
                axes.plot(
                    [x for x, _ in places], [y for _, y in places], marker, markersize=5.5,
                    markerfacecolor=kinds.colour(kind) if marker == "o" else "none", markeredgecolor=TEXT,
                    markeredgewidth=0.6,
                )  # fmt: skip
        axes.set_yticks([-index for index in range(len(rows))], [f"{short(name, 30)}  n={len(v)}" for name, v in rows])
        ticks = [10.0**power for power in range(first, last + 1)]
        axes.set_xticks(
            [*ticks, *([edge * 2] if endless else [])], [*map(_second, ticks), *(["no end seen"] if endless else [])]
        )
        axes.minorticks_off()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=LINE, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
        return svg(
            axes, label="recovery time by kind of fault, logarithmic: " + ", ".join(short(name, 40) for name, _ in rows)
        )


def _box(axes: Axes, y: float, values: Sequence[float], kinds: Kinds, kind: str) -> None:
    if len(values) < 5:
        return
    q1, q2, q3 = (max(nearest_rank(values, q), _LEAST_US) / 1e6 for q in (0.25, 0.5, 0.75))
    box = Rectangle(
        (q1, y - 0.33), q3 - q1, 0.66, facecolor=kinds.colour(kind), alpha=0.35, edgecolor=TEXT,
        hatch=kinds.hatch(kind) or None, linewidth=0.8,
    )  # fmt: skip
    axes.add_patch(box)
    axes.plot([q2, q2], [y - 0.33, y + 0.33], color=TEXT, linewidth=2)


def nearest_rank(values: Sequence[float], part: float) -> float:
    """The observed value that `part` of the sorted values do not exceed."""
    return values[max(0, math.ceil(part * len(values)) - 1)]


def _spread(values: Sequence[float]) -> list[float]:
    """At most so many points, evenly from the sorted values, with the least and the largest."""
    if len(values) <= _MOST_POINTS:
        return list(values)
    step = (len(values) - 1) / (_MOST_POINTS - 1)
    return [values[round(number * step)] for number in range(_MOST_POINTS)]


def _second(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.0f} s"
