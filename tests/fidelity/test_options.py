"""Vectors and scenarios of others: what is run, what fails, what is listed, and what is said of files that are none."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fidelity.judging import observe, problems, unknown, why_not_run
from tests.fidelity.scenarios.records import read_records, shared_records
from tests.fidelity.vectors import DATA, load, shared
from tests.tools.programs import run_pytest

ROOT = Path(__file__).parents[2]
OF_EACH = 3
"""Of each operation so many are run: all of them would take as long as their own tests."""


def pytest_says(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_pytest("tests/fidelity", "-q", "-p", "no:cacheprovider", *arguments, cwd=ROOT)


def corrupted(tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    """Some vectors of each operation that are run, each with another value in what it expects."""
    groups = json.loads((DATA / "vectors.json").read_text(encoding="utf-8"))
    run = {vector.id for vector in shared() if why_not_run(vector) is None}
    some = {
        operation: [entry for entry in entries if entry["id"] in run][:OF_EACH]
        for operation, entries in groups.items()
        if operation != "_meta"
    }
    (tmp_path / "some.json").write_text(json.dumps({"_meta": {}, **some}))
    made = subprocess.run(
        [sys.executable, "-m", "tests.tools.corrupt", tmp_path / "some.json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    bad: dict[str, list[dict[str, Any]]] = json.loads(made.stdout)
    assert bad.pop("_meta") == {}
    assert all(
        now["expected"] != before["expected"] for op in some for now, before in zip(bad[op], some[op], strict=True)
    )
    return bad


def test_of_corrupted_vectors_every_one_fails_and_what_is_unknown_is_said(tmp_path: Path) -> None:
    bad = corrupted(tmp_path)
    election = {"strategy": "offline", "assignment": [1], "isr": [1], "live": [1]}
    bad["leader_election"].append({"id": "odd", "inputs": {**election, "moon": 1}, "expected": {"leader": 1}})
    bad["astrology"] = [{"id": "stars", "inputs": {}, "expected": {}}]
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(bad))
    ran = pytest_says("--kc-vectors", str(file))
    count = sum(map(len, bad.values())) - len(bad["astrology"])
    assert re.search(rf"^{count} failed(, \d+ deselected)? in", ran.stdout, re.MULTILINE), ran.stdout[-2000:]
    assert "'moon' is a key that no vector of leader_election has: it would not be looked at" in ran.stdout
    assert "stars: astrology is no operation of " in ran.stdout.partition("vectors that were not run")[2]


def test_the_examples_of_the_page_are_files_that_can_be_run(tmp_path: Path) -> None:
    page = (ROOT / "docs/fidelity.md").read_text(encoding="utf-8")
    vectors, scenario = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.json").write_text(vectors)
    (vector,) = load(tmp_path / "mine.json")
    assert (why_not_run(vector), unknown(vector), problems(vector, observe(vector))) == (None, [], [])
    (tmp_path / "mine.json.gz").write_bytes(gzip.compress(scenario.encode()))
    (record,) = read_records(tmp_path)
    there = shared_records()[0]
    assert record.log[0].keys() | {"upto"} == there.log[0].keys()
    assert {step[0] for step in record.steps} <= {step[0] for step in there.steps}


def test_a_file_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    ran = pytest_says("--kc-vectors", str(tmp_path / "missing.json"))
    assert ran.returncode == 4
    assert "missing.json: no file of vectors can be read there" in ran.stderr
    ran = pytest_says("--kc-scenarios", str(tmp_path))
    assert ran.returncode == 4
    assert f"{tmp_path}: there is no recorded scenario, a file that ends in .json.gz" in ran.stderr
