"""The report of a hostile history, as files and in a real browser: everything is shown, nothing of it is obeyed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from kcontroller_chaos.history.read import read_history
from kcontroller_chaos.history.rundir import RunDirectory, write_json
from kcontroller_chaos.judge.timeline import timeline
from kcontroller_chaos.judge.verdict import verdicts
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.model.text import printable
from pytest_kcontroller.runtime.real import RunStart

MARKUP = "<script>alert('x')</script><img src=http://evil.invalid/x onerror=alert(1)>"
NAME = '<img src=x onerror=alert(1)>$\\alpha$ &amp; "q" | `b` ]]> \u202elive\u202c \x1b[31m 名'
LONG = "very-long-" * 60


class Writer:
    """Lines of one history file."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.lines, self.path = name, list[str](), path

    def __call__(self, t_us: int, kind: str, **fields: Any) -> None:
        event = {"writer": self.name, "seq": len(self.lines), "t_us": t_us, "kind": kind, **fields}
        self.lines.append(json.dumps(event) + "\n")
        self.path.write_text("".join(self.lines), encoding="utf-8")


def hostile_run(out: Path) -> Path:
    """A controller whose session ZooKeeper gave up, and who wrote all the same; names are markup wherever they can be."""
    campaign = {"name": MARKUP.replace("/", "_"), "file": MARKUP, "sha256": ""}
    run = RunDirectory.create(out, campaign, 1, RunStart(10**18, 0), backend="process", mutant=MARKUP)
    history = run.history
    engine, node = Writer("engine", history / "engine.jsonl"), Writer("node-1", history / "node-1.jsonl")
    witness = Writer("zookeeper", history / "witness.jsonl")

    def txn(t_us: int, session: str, type: str = "multi", cxid: int = 1, **written: Any) -> None:
        ops = [{"type": "set", "path": path, "data": json.dumps(value)} for path, value in written.items()]
        witness(t_us, "zk.txn", zxid=t_us, session=session, type=type, cxid=cxid, time_ms=0, ops=ops)

    engine(100_000, "run.started")
    for topic in (NAME, LONG, MARKUP.replace("/", "")):
        txn(200_000, "0x9", **{f"/brokers/topics/{topic}": {"partitions": {"0": [1, 2]}}})
    txn(210_000, "0xa", "create-session")
    txn(220_000, "0xb", "create-session")
    node(230_000, "zk.state", state="connected", session="0xa")
    txn(300_000, "0xa", **{"/controller": {"brokerid": 1}, "/controller_epoch": 1})
    node(310_000, "controller.elected", epoch=1, session="0xa")
    asked = {"fault": MARKUP, "fault_kind": MARKUP, "mode": NAME, "target": MARKUP, "node": 1, "session": "0xa"}
    for step, t_us in (("asked", 400_000), ("applied", 410_000), ("not-observed", 900_000)):
        engine(t_us, f"fault.{step}", **asked, why=MARKUP + NAME)
    txn(500_000, "0xa", "close-session", cxid=0)
    txn(600_000, "0xb", **{"/controller": {"brokerid": 2}, "/controller_epoch": 2})
    stale = {"controller_epoch": 1, "leader": 1, "isr": [1], "leader_epoch": 0}
    txn(700_000, "0xa", **{f"/brokers/topics/{topic}/partitions/0/state": stale for topic in (NAME, LONG)})
    node(800_000, "controller.resigned", epoch=1, reason=NAME)
    node(800_001, MARKUP, **{MARKUP: NAME})
    told = read_history(history)  # as `judge` does it, without a log of a real ZooKeeper
    verdict = verdicts(told)
    assert verdict["overall"] == "violated"
    write_json(run.path / "verdicts.json", verdict)
    write_json(run.path / "timeline.json", timeline(told, verdict))
    run.end(10**18 + 10**9, "violated")
    return run.path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a hostile run and of one that was killed before it was judged."""
    root = tmp_path_factory.mktemp("report")
    hostile_run(root / "runs")
    RunDirectory.create(
        root / "runs", {"name": LONG[:200], "file": NAME, "sha256": ""}, 2, RunStart(10**18, 0), backend="process"
    )
    summary = root / "step-summary.md"
    summary.write_text("what another step said\n")
    program = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "report", "runs", "-o", "out", "--json"], cwd=root, capture_output=True, text=True,
        timeout=scaled(240), env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (root / "said.json").write_text(done.stdout)
    return root / "out"


class Tags(HTMLParser):
    """Tags, handlers and texts as a browser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.handlers, self.links = set[str](), list[str](), list[str]()
        self.texts, self.drawn = list[str](), list[str]()
        self._in = list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._in.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]

    def handle_endtag(self, tag: str) -> None:
        while tag in self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        (self.drawn if "text" in self._in else self.texts).append(data)


def test_what_makes_a_setup_of_its_own_is_said_as_its_documentation_does(made: Path) -> None:
    page = "".join(Tags((made / "report.html").read_text(encoding="utf-8")).texts)
    (said,) = re.findall("never over runs that differ in (.+): each such setup", page)
    documented = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8").replace("`", "")
    assert f"several: {said.replace(' or ', ', ')}. No figure" in documented.replace("*", "")


def test_markup_in_a_history_is_text_on_the_page_and_in_its_pictures(made: Path) -> None:
    text = (made / "report.html").read_text(encoding="utf-8")
    page = Tags(text)

    assert not {"script", "img", "image", "iframe", "object", "foreignobject"} & page.tags
    assert page.handlers == []
    assert page.links[0] == "data:," and all(link.startswith("#") for link in page.links[1:])
    assert "default-src 'none'" in text
    shown = " ".join(page.texts)
    assert MARKUP in shown and printable(NAME) in shown and LONG.rstrip("-") in shown
    assert any("<img src=x" in drawn for drawn in page.drawn), "the topic is a lane of the timeline"
    assert any("<script>" in drawn for drawn in page.drawn), "and so is the fault"
    assert any("$" in drawn for drawn in page.drawn) or "$" in shown


@pytest.mark.parametrize("name", ["report.html", "report.md", "junit.xml", "summary.json"])
def test_no_file_holds_characters_that_move_a_cursor_or_turn_a_line(made: Path, name: str) -> None:
    text = (made / name).read_text(encoding="utf-8")
    assert not [char for char in text if not char.isprintable() and char != "\n"]


def test_markup_is_no_markup_for_github(made: Path) -> None:
    text = (made / "report.md").read_text(encoding="utf-8")
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    ours = re.sub(r"</?(?:details|summary|br)>", "", outside)
    assert re.findall(r"(?<!\\)[<>]", ours.replace("\\\\", "")) == []
    fenced = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(fenced) == 1 and all("kcontroller replay" in block for block in fenced)
    assert not re.search(r"(?<!\\)://", outside), "no link, not even by itself"
    rows = [line for line in text.splitlines() if line.startswith("| violated ")]
    assert len(re.findall(r"(?<!\\)\|", rows[-1])) == 11, "a bar in a name makes no cell"


def test_the_json_of_the_command_is_one_document_by_its_schema(made: Path) -> None:
    said = json.loads((made.parent / "said.json").read_text())
    jsonschema.validate(said, json.loads((Path(__file__).parents[3] / "docs/cli.schema.json").read_text()))
    assert (said["runs"], said["files"]["page"]) == (2, "out/report.html")


def test_the_step_summary_is_added_to_what_is_there(made: Path) -> None:
    summary = (made.parent / "step-summary.md").read_text(encoding="utf-8")
    assert summary == "what another step said\n\n" + (made / "report.md").read_text(encoding="utf-8")


def test_junit_has_a_case_per_run_with_seed_schedule_and_the_parts_of_its_verdict(made: Path) -> None:
    root = ElementTree.parse(made / "junit.xml").getroot()
    cases = {case.get("name"): case for case in root.iter("testcase")}

    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped")) == ("2", "1", "0", "1")
    assert cases["seed-1"].get("classname") == printable(MARKUP.replace("/", "_"))
    values = {entry.get("name"): entry.get("value") or "" for entry in cases["seed-1"].iter("property")}
    assert values.pop("kc.schedule").endswith("schedule.jsonl")
    assert values == {
        "kc.seed": "1", "kc.verdict.injected": "held", "kc.verdict.operations": "held", "kc.verdict.observed": "environment",
        "kc.verdict.invariants": "violated", "kc.verdict.healed": "environment",
    }  # fmt: skip
    failure, skipped = cases["seed-1"].find("failure"), cases["seed-2"].find("skipped")
    assert failure is not None and "kcontroller replay" in str(failure.text)
    assert skipped is not None and str(skipped.get("message")).startswith("verdicts.json is missing")


def test_summary_json_is_what_its_schema_says(made: Path) -> None:
    schema = json.loads((files("kcontroller_reports") / "summary.schema.json").read_text())
    value = json.loads((made / "summary.json").read_text())

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(value, schema)
    assert value["runs"] == {
        "total": 2, "known": 0, "violated": 1, "unknown": 0, "environment": 0, "unfinished": 1, "held": 0,
    }  # fmt: skip
    assert value["failures"][0]["witness"]["path"].startswith("/brokers/topics/")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**value, "verdict": "fine"}, schema)


# --- in a browser -----------------------------------------------------------------------------------------------------


COLOURS = {
    "light": ("rgb(255, 255, 255)", {"rgb(29, 35, 41)", "rgb(90, 102, 114)"}),
    "dark": ("rgb(20, 24, 28)", {"rgb(228, 232, 236)", "rgb(154, 165, 177)"}),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_in_a_browser(made: Path, browser: Any, width: int, scheme: str) -> None:
    address = (made / "report.html").as_uri()
    said: list[str] = []
    asked: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")

    assert page.title().endswith(": 1 of 2 runs violated, 1 did not finish")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "something is wider than the page"
    pictures = [box.bounding_box() for box in page.locator(".plot svg").all()]
    assert all(box["height"] > 100 for box in pictures if box is not None)
    assert [box is None for box in pictures].count(True) == len(pictures) // 3, (
        "a window is drawn for one of two widths"
    )
    paper, ink = COLOURS[scheme]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    drawn = "[...document.querySelectorAll('.plot svg text')].map(text => getComputedStyle(text).fill)"
    assert set(page.evaluate(drawn)) <= ink, "texts in pictures have the page's colours"
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == COLOURS["light"][0]
    page.close()
    assert said == []
    assert asked == [address]
