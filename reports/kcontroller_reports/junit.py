"""junit.xml: one test case per run, so that a CI server shows campaigns as it shows tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from xml.etree import ElementTree

from kcontroller_reports.block import replay_command
from kcontroller_reports.summary import Run, Summary
from kcontroller_reports.tables import PARTS
from pytest_kcontroller.model.text import printable

#: A verdict is told by the element of its test case; a run that held has none, and a known failure is skipped, as an xfail.
_ELEMENTS = {"violated": "failure", "environment": "error", "unknown": "skipped"}
_ATTRIBUTES = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def junit_xml(summary: Summary) -> bytes:
    """The file: a suite per campaign. What XML cannot hold (control characters) is shown in its stead."""
    labels = {setup.name: setup.label for setup in summary.setups}
    root = ElementTree.Element("testsuites", {"name": "kcontroller", **_totals(summary.runs)})
    for campaign, runs in groupby(summary.runs, key=lambda run: run.campaign):
        several = list(runs)
        suite = ElementTree.SubElement(root, "testsuite", {"name": printable(campaign), **_totals(several)})
        for run, name in zip(several, _names(several, labels), strict=True):
            _case(suite, run, name)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _names(runs: Sequence[Run], labels: Mapping[str, str]) -> list[str]:
    """Of the test cases of one campaign, each another: CI servers keep one of those with equal names. A seed that ran more
    than once is told with its setup, and if that says too little with its run, and where that lies."""
    names = [run.run if run.seed is None else f"seed-{run.seed}" for run in runs]
    more: tuple[Callable[[Run], str], ...] = (
        lambda run: labels[run.setup],
        lambda run: run.run,
        lambda run: run.directory,
    )
    for say in more:
        times = Counter(names)
        told = [(name, say(run)) for name, run in zip(names, runs, strict=True)]
        names = [f"{name} ({word})" if times[name] > 1 and word else name for name, word in told]
    return names


def _totals(runs: Sequence[Run]) -> dict[str, str]:
    counts = {name: sum(_element(run) == element for run in runs) for element, name in _ATTRIBUTES.items()}
    return {"tests": str(len(runs)), **{name: str(count) for name, count in counts.items()}, "time": _seconds(runs)}


def _element(run: Run) -> str | None:
    return "skipped" if run.known else _ELEMENTS.get(run.verdict)


def _seconds(runs: Sequence[Run]) -> str:
    return f"{sum(run.duration_us or 0 for run in runs) / 1e6:.3f}"


def _case(suite: ElementTree.Element, run: Run, name: str) -> None:
    of, took = printable(run.campaign), _seconds([run])
    case = ElementTree.SubElement(suite, "testcase", classname=of, name=printable(name), time=took)
    properties = ElementTree.SubElement(case, "properties")
    values = {
        "kc.seed": "" if run.seed is None else str(run.seed),
        "kc.schedule": str(PurePath(run.directory) / "schedule.jsonl"),
        **{f"kc.verdict.{part}": run.parts[part] or "unknown" for part in PARTS},
    }
    for key, value in values.items():
        ElementTree.SubElement(properties, "property", name=key, value=printable(value))
    if (element := _element(run)) is not None:
        reason = printable(f"known: {run.known}" if run.known else run.reason or "the run does not say why")
        outcome = ElementTree.SubElement(case, element, message=reason)
        if element != "skipped":
            outcome.set("type", run.verdict)
        command = replay_command(run.directory, run.seed)
        outcome.text = reason if command is None else f"{reason}\n{printable(command)}"
