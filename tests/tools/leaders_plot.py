"""The picture on docs/leaders.md, from a run that violated `one-believer`: python -m tests.tools.leaders_plot RUN FILE.svg

It is what a report shows of it, with the colours of its page, so that it stands for itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import kcontroller_reports
from kcontroller_reports.drawing import NODE_COLOURS, Kinds
from kcontroller_reports.page import node_hues
from kcontroller_reports.plots import WIDE, View, timeline_svg
from kcontroller_reports.timelines import read_timeline

STYLE = Path(kcontroller_reports.__file__).parent / "templates/style.css"


def picture(run: Path) -> str:
    """Of the run in this directory, from its timeline.json."""
    timeline = read_timeline(run)
    if isinstance(timeline, str):
        sys.exit(timeline)
    window = next(window for window in timeline.windows if window.name.startswith("one-believer("))
    begin, end = min(fault.from_us for fault in timeline.faults), max(fault.to_us for fault in timeline.faults)
    margin = (end - begin) // 4
    view = View(max(timeline.from_us, begin - margin), min(timeline.to_us, end + margin), WIDE, window)
    kinds = Kinds([fault.kind for fault in timeline.faults])
    drawn = timeline_svg(timeline, kinds, view, label="two believe that they lead")
    colours = re.findall(r"--[a-z0-9-]+: [^;]+;", STYLE.read_text(encoding="utf-8").partition("@media")[0])
    colours += [f"--node-{number}: hsl({hue} 45% 84%);" for number, hue in enumerate(node_hues(NODE_COLOURS))]
    style = f"svg {{ {' '.join(colours)} background: var(--page) }} text {{ stroke: none }}"
    return re.sub(r"(<svg [^>]*>)", rf"\g<1><style>{style}</style>", drawn, count=1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(picture(Path(sys.argv[1])), encoding="utf-8")
