"""The pictures of a report: the timeline of a run, and how long recoveries took."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from kcontroller_reports.drawing import (
    LINE,
    PAGE,
    SOFT,
    TEXT,
    VIOLATED,
    ZOMBIE,
    Kinds,
    figure,
    node_colour,
    svg,
)
from kcontroller_reports.timelines import Fault, Session, Span, Timeline, Window
from kcontroller_reports.words import SKIPPED, short

_ROW = 0.215  # inches
_LETTER = 0.068  # inches, an average one
_MOST_FAULT_ROWS = 6
_LEAST_LETTERS = 8
Side = Literal["right", "left", "inside"]
"""Of a bar: where its label is."""
_VIEWS = {"zookeeper": "ZooKeeper", "client": "client"}


@dataclass(frozen=True, slots=True)
class Paper:
    """How much room a picture has: inches, and how many lanes of each sort."""

    width: float
    left: float
    partitions: int
    nodes: int
    ticks: int


WIDE = Paper(width=10.8, left=1.75, partitions=12, nodes=7, ticks=9)
#: For a screen of 390 pixels, where the text must not become smaller.
NARROW = Paper(width=4.1, left=1.3, partitions=4, nodes=2, ticks=4)


# --- the timeline of a run --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Lane:
    """A row of the picture; `y` is its middle."""

    label: str
    y: float


class FaultPlaces:
    """Where in the picture's width bars and labels of faults are; times in microseconds of the run."""

    def __init__(self, from_us: int, to_us: int, paper: Paper = WIDE) -> None:
        self.from_us, self.to_us = from_us, max(to_us, from_us + 1)
        self.inch_us = (self.to_us - self.from_us) / (paper.width - paper.left - 0.15)

    def bar(self, fault: Fault) -> tuple[float, float]:
        begin, end = max(fault.from_us, self.from_us), min(fault.to_us, self.to_us)
        return begin, max(end, begin + self.inch_us * 0.012)

    def label(self, fault: Fault) -> tuple[str, Side]:
        """As much of it as there is room for, and where: on the bar's right if it goes there, else where most does."""
        begin, end = self.bar(fault)
        text = fault_label(fault)
        room: dict[Side, float] = {
            "right": (self.to_us - end) / self.inch_us,
            "left": (begin - self.from_us) / self.inch_us,
            "inside": (end - begin) / self.inch_us,
        }
        sides: list[Side] = sorted(room, key=lambda side: -room[side])
        fits: list[Side] = [side for side in room if room[side] > len(text) * _LETTER]
        side = (fits or sides)[0]
        return short(text, max(_LEAST_LETTERS, int(room[side] / _LETTER))), side

    def place(self, faults: Sequence[Fault]) -> list[tuple[int, bool]]:
        """The row of each fault, and whether its label is written: nothing overlaps a label. What is too much is in the
        last row, without labels."""
        taken: list[list[tuple[float, float]]] = []
        placed = []
        for fault in faults:
            begin, end = self.bar(fault)
            text, side = self.label(fault)
            width = (len(text) * _LETTER + 0.2) * self.inch_us
            mine = (begin - width if side == "left" else begin, end + width if side == "right" else end)
            free = [row for row, spans in enumerate(taken) if all(mine[1] <= a or b <= mine[0] for a, b in spans)]
            if not free and len(taken) < _MOST_FAULT_ROWS:
                free, taken = [len(taken)], [*taken, []]
            row = free[0] if free else _MOST_FAULT_ROWS - 1
            taken[row].append(mine if free else (begin, end))
            placed.append((row, bool(free)))
        return placed


class _Gantt(FaultPlaces):
    """Rows from top to bottom, in seconds of the run."""

    def __init__(self, axes: Axes, from_us: int, to_us: int, paper: Paper) -> None:
        super().__init__(from_us, to_us, paper)
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
        if to_us - from_us < self.inch_us * 0.02 or to_us < self.from_us or from_us > self.to_us:
            return  # nothing that could be seen: also an orderly end takes the client a moment to hear of
        begin, end = max(from_us, self.from_us), min(to_us, self.to_us)
        corner = (begin / 1e6, min(top.y, bottom.y) - 0.46)
        height = abs(top.y - bottom.y) + 0.92
        frame = Rectangle(
            corner, (end - begin) / 1e6, height, facecolor="none", edgecolor=ZOMBIE, linewidth=1.4, zorder=5
        )
        self.axes.add_patch(frame)

    def fault(self, lane: _Lane, fault: Fault, kinds: Kinds, *, named: bool) -> None:
        begin, least = self.bar(fault)
        colour = kinds.colour(fault.kind)
        if begin > self.from_us or least < self.to_us:  # what is behind all of it tells no time from another
            self.axes.axvspan(begin / 1e6, least / 1e6, facecolor=colour, alpha=0.16, linewidth=0, zorder=0)
        self.block(lane, Span(int(begin), int(least)), colour, hatch=kinds.hatch(fault.kind), edge=TEXT)
        if fault.observed_us is not None and self.from_us <= fault.observed_us <= self.to_us:
            self.axes.plot(
                [fault.observed_us / 1e6], [lane.y], marker="|", color=TEXT, markersize=11, markeredgewidth=1.6
            )
        if not named:
            return
        text, side = self.label(fault)
        shift = self.inch_us * 0.05
        place, align = {
            "right": (least + shift, "left"),
            "left": (begin - shift, "right"),
            "inside": ((begin + least) / 2, "center"),
        }[side]
        behind = {"facecolor": PAGE, "edgecolor": "none", "pad": 0.6} if side == "inside" else None
        self.axes.text(
            place / 1e6, lane.y, text, ha=align, va="center_baseline", fontsize=7.5, zorder=6, bbox=behind
        )  # fmt: skip


def fault_label(fault: Fault) -> str:
    kind = f"{fault.kind}:{fault.mode}" if fault.mode else fault.kind
    name = kind if fault.id in (fault.kind, kind) else f"{short(fault.id, 24)}, {kind}"
    return short(name if fault.node is None else f"{name} (node {fault.node})", 48)


@dataclass(frozen=True, slots=True)
class View:
    """The part of a timeline that is drawn, and on what paper; `about`: the window whose witness it is drawn for."""

    from_us: int
    to_us: int
    paper: Paper = WIDE
    about: Window | None = None

    def shows(self, span: Span) -> bool:
        return span.to_us >= self.from_us and span.from_us <= self.to_us

    def partitions(self, timeline: Timeline) -> list[str]:
        """In natural order. If there is no room for all, the witness's own and then those whose leader changed most."""
        shown = [span for span in timeline.leaders if self.shows(span)]
        mine = self.about.partition if self.about else ""
        changes = Counter(span.partition for span in shown if span.from_us >= self.from_us)
        names = {span.partition: None for span in shown}
        if self.about and mine:  # what did not change in the window is no part of its story
            names = {name: None for name in names if name == mine or changes[name]}
        weighed = sorted(names, key=lambda name: (name != mine, -changes[name], _natural(name)))
        return sorted(weighed[: self.paper.partitions], key=lambda name: (name != mine, _natural(name)))

    def nodes(self, timeline: Timeline) -> list[int]:
        """The witness's first; those whose sessions have something to show."""
        mine = self.about.nodes if self.about else ()
        shown = {span.node: None for span in timeline.sessions if span.node is not None and self.shows(span)}
        order = {node: place for place, node in enumerate(mine)}
        kept = sorted(shown, key=lambda node: (order.get(node, len(order)), node))[: self.paper.nodes]
        return kept if self.about else sorted(kept)

    def owned(self, timeline: Timeline) -> dict[str, list[int]]:
        """Znode -> the nodes that believe to own it, of those that somebody owns or believes to."""
        found: dict[str, dict[int, None]] = {}
        for span in timeline.owners:
            if self.shows(span):
                believers = found.setdefault(span.path, {})
                if span.view == "program" and span.node is not None:
                    believers[span.node] = None
        return {path: sorted(found[path])[: self.paper.nodes] for path in sorted(found)[: self.paper.ticks // 4]}

    def acting(self, timeline: Timeline) -> list[int]:
        spans = (span for span in timeline.controllers if span.view == "node" and self.shows(span))
        return sorted({span.node: None for span in spans if span.node is not None})[: self.paper.nodes]


def timeline_svg(timeline: Timeline, kinds: Kinds, view: View, *, label: str) -> str:
    """Faults, controllers, owners, leaders and the views of each session; a lane that has nothing to show is not drawn."""
    begin, end, paper = view.from_us, min(view.to_us, timeline.to_us), view.paper
    faults = [fault for fault in timeline.faults if fault.status != SKIPPED and view.shows(fault)]
    placed = FaultPlaces(begin, end, paper).place(faults)
    rows = 1 + max((row for row, _ in placed), default=-1)
    partitions, nodes, acting = view.partitions(timeline), view.nodes(timeline), view.acting(timeline)
    letters = int((paper.left - 0.1) / _LETTER)
    named = any(span.view == "zookeeper" and view.shows(span) for span in timeline.controllers)
    owned, views = (
        view.owned(timeline),
        [v for v in ("zookeeper", "client") if v in {s.view for s in timeline.sessions}],
    )
    groups = [
        ("FAULTS", [""] * rows),
        ("CONTROLLER", [*(["by ZooKeeper"] if named else []), *[f"node {node} says so" for node in acting]]),
        *(
            (f"OWNER OF {short(path, 48)}", ["by ZooKeeper", *[f"node {node} says so" for node in believers]])
            for path, believers in owned.items()
        ),
        ("LEADERS", [short(name, letters) for name in partitions]),
        ("SESSIONS", [f"node {node}: {_VIEWS[view]}" for node in nodes for view in views]),
    ]
    lanes, height = _lanes(groups)
    with figure(paper.width, height * _ROW + 0.6, left=paper.left) as axes:
        axes.set_xlim(begin / 1e6, max(end, begin + 1) / 1e6)
        axes.set_ylim(-height, 0)
        gantt = _Gantt(axes, begin, end, paper)  # how the run is taken down after its end is not drawn
        _label_lanes(axes, groups, lanes, paper)
        for fault, (row, labelled) in zip(faults, placed, strict=True):
            gantt.fault(lanes["FAULTS"][row], fault, kinds, named=labelled)
        _draw_controllers(gantt, timeline, lanes["CONTROLLER"], acting, named=named)
        for path, believers in owned.items():
            _draw_owners(gantt, timeline, lanes[f"OWNER OF {short(path, 48)}"], path, believers)
        _draw_leaders(gantt, timeline, lanes["LEADERS"], partitions)
        _draw_sessions(gantt, timeline, lanes["SESSIONS"], nodes, views)
        if view.about is not None:
            axes.axvline(view.about.at_us / 1e6, color=VIOLATED, linewidth=1.2, linestyle=(0, (4, 2)), zorder=7)
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


def _label_lanes(
    axes: Axes, groups: Sequence[tuple[str, list[str]]], lanes: Mapping[str, list[_Lane]], paper: Paper
) -> None:
    every = [lane for name, _ in groups for lane in lanes[name]]
    axes.set_yticks([lane.y for lane in every], [lane.label for lane in every])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(paper.ticks))
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=LINE, linewidth=0.5, zorder=0)
    axes.set_axisbelow(True)
    for name, labels in groups:
        if labels:
            place = (-paper.left / (paper.width - paper.left - 0.15) + 0.005, lanes[name][0].y + 0.95)
            axes.text(
                *place,
                name,
                transform=axes.get_yaxis_transform(),
                fontsize=7,
                color=SOFT,
                va="center",
                fontweight="bold",
            )


def _draw_controllers(
    gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], acting: Sequence[int], *, named: bool
) -> None:
    by_zookeeper = [span for span in timeline.controllers if span.view == "zookeeper"]
    for span in by_zookeeper:
        if named and gantt.seen(span):
            gantt.block(lanes[0], span, node_colour(span.node), f"node {span.node}, epoch {span.epoch}")
    for node, lane in zip(acting, lanes[1 if named else 0 :], strict=False):
        for span in (span for span in timeline.controllers if span.view == "node" and span.node == node):
            if gantt.seen(span):
                gantt.block(lane, span, node_colour(node), f"epoch {span.epoch}", height=0.6)
            ends = [by.to_us for by in by_zookeeper if by.node == node and by.epoch == span.epoch]
            if ends:
                gantt.disagreement(lane, lane, max(ends), span.to_us)


def _draw_owners(
    gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], path: str, believers: Sequence[int]
) -> None:
    mine = [span for span in timeline.owners if span.path == path]
    by_zookeeper = [span for span in mine if span.view == "zookeeper"]
    for span in by_zookeeper:
        if gantt.seen(span):
            name = short(span.session, 20) if span.node is None else f"node {span.node}"
            gantt.block(lanes[0], span, node_colour(span.node), name)
    for node, lane in zip(believers, lanes[1:], strict=False):
        for span in (span for span in mine if span.view == "program" and span.node == node):
            if gantt.seen(span):
                gantt.block(
                    lane, span, node_colour(node), "" if span.epoch is None else f"epoch {span.epoch}", height=0.6
                )
            owned = [
                by for by in by_zookeeper if by.node == node and by.to_us >= span.from_us and by.from_us <= span.to_us
            ]
            if ends := [by.to_us for by in owned]:
                gantt.disagreement(lane, lane, max(ends), span.to_us)


def _draw_leaders(gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], partitions: Sequence[str]) -> None:
    place = dict(zip(partitions, lanes, strict=False))
    for span in timeline.leaders:
        lane = place.get(span.partition)
        if lane is None or not gantt.seen(span):
            continue
        if span.leader is None:
            gantt.block(lane, span, "none", "no leader", hatch="xxx", edge=SOFT)
        else:
            gantt.block(lane, span, node_colour(span.leader), f"node {span.leader}", edge=TEXT)


def _draw_sessions(
    gantt: _Gantt, timeline: Timeline, lanes: Sequence[_Lane], nodes: Sequence[int], views: Sequence[str]
) -> None:
    for index, node in enumerate(nodes):
        of_node = lanes[len(views) * index : len(views) * (index + 1)]
        server, client = of_node[0], of_node[-1]
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
        gantt.block(lane, span, "none", "expired", edge=TEXT)
    else:
        gantt.block(lane, span, node_colour(node), short(span.session, 20))
    if span.ended == "expired" and span.to_us <= gantt.to_us:
        gantt.axes.plot(
            [span.to_us / 1e6], [lane.y], marker="x", color=TEXT, markersize=5.5, markeredgewidth=1.6, zorder=6
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
    with figure(WIDE.width, len(rows) * 0.42 + 0.75, left=2.3) as axes:
        edge = 10.0**last
        axes.set_xscale("log")
        axes.set_xlim(10.0**first * 0.9, edge * (9 if endless else 1.1))
        axes.set_ylim(-len(rows) + 0.5, 0.5)
        for index, (name, values) in enumerate(rows):
            kind = name.partition(":")[0]
            _box(axes, -index, sorted(value for value in values if not math.isinf(value)), kinds, kind)
            points = _spread(sorted(values))
            heights = [-index + 0.24 * (number % 5 - 2) / 2 for number in range(len(points))]
            inner = [(max(p, _LEAST_US) / 1e6, h) for p, h in zip(points, heights, strict=True) if not math.isinf(p)]
            outer = [(edge * 4, h) for p, h in zip(points, heights, strict=True) if math.isinf(p)]
            for marker, places in (("o", inner), (">", outer)):
                axes.plot(
                    [x for x, _ in places], [y for _, y in places], marker, markersize=5.5,
                    markerfacecolor=kinds.colour(kind) if marker == "o" else "none", markeredgecolor=TEXT,
                    markeredgewidth=0.6,
                )  # fmt: skip
        axes.set_yticks([-index for index in range(len(rows))], [f"{short(name, 30)}  n={len(v)}" for name, v in rows])
        ticks = [10.0**power for power in range(first, last + 1)]
        axes.set_xticks(
            [*ticks, *([edge * 4] if endless else [])], [*map(_second, ticks), *(["no end seen"] if endless else [])]
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
