"""What all plots share: matplotlib draws with stand-in colours, the page decides what they are.

A stand-in becomes a CSS variable, so one picture serves light, dark and print. The SVG is text without dates, and
its ids are its own, so that the same input gives the same bytes and many pictures live in one page.
"""

from __future__ import annotations

import hashlib
import html
import io
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pytest_kcontroller.model.text import printable

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # the terminal is for what people asked

_NAMES: Final = ("text", "soft", "line", "page", "violated", "zombie")
KIND_COLOURS: Final = 8  # as many as can be told apart by colour-blind people (Okabe and Ito)
NODE_COLOURS: Final = 12
#: Of lines only: dots and circles are hundreds of curves in each picture.
_HATCHES: Final = ("////", "\\\\\\\\", "----", "xxxx", "||||", "++++", "//", "xx", "")
#: In the order in which they came: a new one goes to the end, so that the others keep what they look like.
_KNOWN_KINDS: Final = (
    "kill",
    "pause",
    "session_expiry",
    "depose",
    "hold",
    "latency",
    "partition",
    "reset",
    "bounce",
    "graceful_stop",
    "restart",
    "bandwidth",
    "flap",
    "limit_data",
    "slicer",
    "slow_close",
    "timeout",
    "expiry_storm",
    "session_flap",
    "zombie_session",
    "drop_reply",
    "hold_request",
    "stall",
    "zookeeper_kill_leader",
    "zookeeper_lose_quorum",
    "zookeeper_pause",
    "zookeeper_restart",
    "disk_wipe",
    "clock_jump",
    "power_failure",
    "late_ephemerals",
    "lagging_follower",
    "disconnect",
    "memory_limit",
    "log_dir_failure",
    "disk_full",
)

_STAND_INS: Final = {
    **{name: f"#0a00{number:02x}" for number, name in enumerate(_NAMES)},
    **{f"kind-{number}": f"#0b00{number:02x}" for number in range(KIND_COLOURS)},
    **{f"node-{number}": f"#0c00{number:02x}" for number in range(NODE_COLOURS)},
}
_VARIABLES: Final = {colour: f"var(--{name})" for name, colour in _STAND_INS.items()}
TEXT, SOFT, LINE, PAGE, VIOLATED, ZOMBIE = (_STAND_INS[name] for name in _NAMES)

_RC: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "kcontroller",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.color": TEXT,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "hatch.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Kinds:
    """The colour and hatch of each kind of fault: the same in every plot of a report, and in every report."""

    def __init__(self, kinds: Sequence[str]) -> None:
        known = [*_KNOWN_KINDS, *sorted(set(kinds) - set(_KNOWN_KINDS))]
        self._number = {kind: number for number, kind in enumerate(known)}

    def name(self, kind: str) -> str:
        """Of its CSS variable."""
        return f"kind-{self._number.get(kind, 0) % KIND_COLOURS}"

    def colour(self, kind: str) -> str:
        return _STAND_INS[self.name(kind)]

    def hatch(self, kind: str) -> str:
        return _HATCHES[self._number.get(kind, 0) % len(_HATCHES)]


def node_colour(node: int | None) -> str:
    return LINE if node is None else _STAND_INS[f"node-{node % NODE_COLOURS}"]


@contextmanager
def figure(width: float, height: float, *, left: float, bottom: float = 0.45, top: float = 0.1) -> Iterator[Axes]:
    """Axes of a new figure; sizes in inches. Settings of the person's own matplotlib do not count."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser has the fonts
        drawn = Figure(figsize=(width, height), facecolor="none")
        FigureCanvasSVG(drawn)
        box = (left / width, bottom / height, 1 - (left + 0.15) / width, 1 - (bottom + top) / height)
        axes = drawn.add_axes(box)
        axes.set_facecolor("none")
        yield axes


def svg(axes: Axes, *, label: str) -> str:
    """The figure of these axes as an inline `<svg>`."""
    file = io.StringIO()
    axes.get_figure(root=True).savefig(  # type: ignore[union-attr]
        file, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :].strip()
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", drawn, count=1, flags=re.DOTALL)
    drawn = re.sub(r"\s*<style type=\"text/css\">.*?</style>", "", drawn, count=1, flags=re.DOTALL)
    drawn = re.sub(r"<!--.*?-->\s*", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r' (?:width|height)="[\d.]+pt"', "", drawn, count=2)
    drawn = re.sub(r">\s*\n\s*<", "><", drawn)
    own = "p" + hashlib.sha256((label + drawn).encode()).hexdigest()[:8]
    drawn = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), own), drawn)  # never the texts between them
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{html.escape(printable(label))}" ', 1)


_UNUSED_ID: Final = re.compile(r' id="(?:figure|axes|patch|text|line2d|matplotlib\.axis|xtick|ytick)_\d+"')
_TOO_EXACT: Final = re.compile(r"(?<=[ \"(,])(-?\d+\.\d\d)\d+")


def _tag(tag: str, own: str) -> str:
    tag = _TOO_EXACT.sub(r"\1", _UNUSED_ID.sub("", re.sub(r"\s*\n\s*", " ", tag)))
    tag = re.sub(r'( id="|url\(#|xlink:href="#)', rf"\g<1>{own}-", tag)
    return re.sub(r"#[0-9a-f]{6}", lambda colour: _VARIABLES.get(colour.group(), colour.group()), tag)
