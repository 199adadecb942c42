"""The worked examples of docs/leaders.md: for kazoo's Election, Curator's LeaderLatch and a Go program, a campaign finds the
moment in which two believe that they lead, and the program's mend holds.

Java and Go programs are built once for a session; where their tools are not on the path, the test is skipped (or, with
KC_TEST_REQUIRE=maven,go, fails).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.cluster.cache import cache_directory
from pytest_kcontroller.cluster.timing import scaled
from tests.tools.required import not_here

EXAMPLES = Path(__file__).parents[3] / "docs/examples/leaders"
PROGRAM = [sys.executable, "-c", "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"]
BUILD_S = 300


@dataclass(frozen=True)
class Example:
    """`needs`: what builds it, with the commands of the page; `tool` is what KC_TEST_REQUIRE calls that."""

    name: str
    flawed: str
    path: str
    tool: str = ""
    needs: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


KAZOO = Example("kazoo", "election.toml", "/my/election")
CURATOR = Example(
    "curator",
    "latch.toml",
    "/my/election",
    tool="maven",
    needs=("mvn", "javac", "java"),
    build=(
        "mvn --batch-mode --quiet dependency:copy-dependencies -DoutputDirectory=lib",
        "javac -cp lib/* -d classes Counter.java",
    ),
)
GO = Example("go", "leader.toml", "/my/leader", tool="go", needs=("go",), build=("go build -o counter .",))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Example], Path]:
    """A copy of an example's directory, with what its program needs: kept until one of its files changes."""

    def build(example: Example) -> Path:
        if missing := [tool for tool in example.needs if shutil.which(tool) is None]:
            not_here(
                example.tool, f"{', '.join(missing)} is not on the path: the example of docs/leaders.md cannot be built"
            )
        source = EXAMPLES / example.name
        content = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(source.iterdir()))).hexdigest()[:16]
        kept = cache_directory() or tmp_path_factory.getbasetemp()
        place = kept / "leaders" / f"{example.name}-{content}"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{example.name}-", dir=place.parent) as made:
                whole = shutil.copytree(source, Path(made) / "built")
                for command in example.build:
                    run(command.split(), whole, status=0)
                with contextlib.suppress(OSError):  # another worker was faster
                    whole.rename(place)
        return place

    return build


def run(command: list[str], place: Path, status: int) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=scaled(BUILD_S), check=False
    )
    assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"


def verdicts(out: Path, campaign: str) -> dict[str, Any]:
    """Name of an invariant -> its verdict."""
    (directory,) = out.glob(f"{campaign}/*")
    value = json.loads((directory / "verdicts.json").read_text())
    assert value["parts"]["observed"]["verdict"] == "held"
    return {entry["name"]: entry for entry in value["invariants"]}


@pytest.mark.parametrize("example", [KAZOO, CURATOR, GO], ids=lambda example: example.name)
def test_two_believe_and_the_mend_holds(example: Example, built: Callable[[Example], Path], tmp_path: Path) -> None:
    place, path = built(example), example.path

    play = [*PROGRAM, "campaign", "run", example.flawed, "fenced.toml", "--seeds", "1", "--out", str(tmp_path)]
    run(play, place, status=1)

    found = verdicts(tmp_path, f"{example.name}-{example.flawed.removesuffix('.toml')}")
    owner, believer = found[f"one-owner({path})"], found[f"one-believer({path})"]
    assert (owner["verdict"], owner["checks"] > 1) == ("held", True), owner
    assert believer["verdict"] == "violated", believer
    witness = believer["witness"]
    first, second = witness["believed"]
    assert first["node"] != second["node"]
    assert first["to_us"] is None or first["to_us"] > second["from_us"], "the program's own lines"
    assert witness["lost"]["how"] == "expired", "ZooKeeper's log"
    assert int(witness["lost"]["zxid"], 16) <= int(witness["zxid"], 16)
    assert witness["owner"] != witness["lost"]["session"]

    found = verdicts(tmp_path, f"{example.name}-fenced")
    assert [name for name, entry in found.items() if entry["verdict"] == "violated"] == []
    believer, writes = found[f"one-believer({path})"], found[f"only-owner-writes({path}, /my/data/**)"]
    assert believer["verdict"] == "held"
    assert believer["seen"].endswith("in different epochs"), "the fault was as bad as before"
    assert (writes["verdict"], writes["checks"] > 10) == ("held", True)
    assert found[f"owned-after-healing({path})"]["verdict"] == "held"
