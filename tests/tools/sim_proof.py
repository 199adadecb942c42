"""The proof of simulated time, `make sim-proof`: one seed is one history, and what ran is the real code.

    python tests/tools/sim_proof.py [FILE] [--seeds A..B] [--least PERCENT]

Four processes play the same seeds, with PYTHONHASHSEED 0 and 1 and with PYTHONMALLOC default and malloc, so that neither
the order of sets nor addresses are the same. For each seed the sha256 of every byte under history/ must be equal in all
four, and no two seeds may have the same. One of the four is measured: controller, broker and store must really have run,
and neither they nor the node may import the simulator. Needs the dependency group `proof`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import coverage

import pytest_kcontroller
from pytest_kcontroller.cli import main as kcontroller

CAMPAIGNS = Path(__file__).parents[2] / "chaos" / "campaigns"
PACKAGE = Path(pytest_kcontroller.__file__).parent
SURROUNDINGS = [{"PYTHONHASHSEED": seed, "PYTHONMALLOC": malloc} for seed in "01" for malloc in ("default", "malloc")]
MEASURED = ("controller", "broker", "zookeeper/store.py")
UNAWARE = (*MEASURED, "node")
SIMULATOR = ("pytest_kcontroller.sim", "pytest_kcontroller.runtime.scheduler")
PLAY = "--play"
COVERAGE_CONFIG = "[run]\nsource = {package}\n[report]\nexclude_also =\n    if TYPE_CHECKING:\n    @abstractmethod\n"


def main() -> int:
    if sys.argv[1:2] == [PLAY]:
        return kcontroller(sys.argv[2:])
    parser = argparse.ArgumentParser(description="one seed is one history; what ran is the real code")
    explore = CAMPAIGNS / "explore.toml"
    default = explore if explore.exists() else CAMPAIGNS / "smoke.toml"
    parser.add_argument("file", nargs="?", type=Path, default=default, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--seeds", default="1..50", metavar="A..B", help="default: %(default)s")
    parser.add_argument("--least", type=float, default=90.0, metavar="PERCENT", help="lines run (default: %(default)g)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sim-proof-") as directory:
        return prove(args.file, args.seeds, args.least, Path(directory))


def prove(file: Path, seeds: str, least: float, work: Path) -> int:
    config = work / "coverage.ini"
    config.write_text(COVERAGE_CONFIG.format(package=PACKAGE))
    processes = []
    for number, surroundings in enumerate(SURROUNDINGS):
        measured = ["-m", "coverage", "run", f"--rcfile={config}", f"--data-file={work}/lines"] if not number else []
        arguments = [PLAY, "campaign", "run", file, "--backend", "sim", "--seeds", seeds, "--out", work / str(number)]
        with (work / f"{number}.log").open("w") as log:
            processes.append(
                subprocess.Popen(
                    [sys.executable, *measured, __file__, *map(str, arguments)],
                    stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **surroundings},
                )
            )  # fmt: skip
    for number, process in enumerate(processes):
        if process.wait() not in (0, 1, 4, 6):  # whatever the verdicts are, they must be the same
            print((work / f"{number}.log").read_text()[-4000:], file=sys.stderr)
            return 1
    return report(file, seeds, least, work, config)


def report(file: Path, seeds: str, least: float, work: Path, config: Path) -> int:
    histories = [digests(work / str(number)) for number in range(len(SURROUNDINGS))]
    played = histories[0].keys()
    equal = sum(len({history.get(seed) for history in histories}) == 1 for seed in played)
    different = len(set(histories[0].values()))
    aware = importers(PACKAGE)
    rows = [
        ("the same history in four processes", f"{equal} of {len(played)} seeds", equal == len(played) > 0),
        ("another history for another seed", f"{different} of {len(played)}", different == len(played) > 0),
    ]
    missed = []
    for part, (percent, places) in lines_run(work / "lines", config).items():
        rows.append((f"lines of {part} that ran", f"{percent:.1f} % (at least {least:g} %)", percent >= least))
        missed += places if percent < least else []
    rows.append(("controller, broker, node and store import the simulator", ", ".join(aware) or "no", not aware))
    print(f"{file}, seeds {seeds}, PYTHONHASHSEED 0 and 1 x PYTHONMALLOC default and malloc")
    for what, value, well in rows:
        print(f"  {'ok ' if well else 'NOT'}  {what:<57}{value}")
    for place in missed:
        print(f"       did not run: {place}")
    verdicts = Counter(json.loads(run.read_text())["verdict"] for run in (work / "0").glob("*/*/run.json"))
    print(f"verdicts: {', '.join(f'{count} {verdict}' for verdict, count in sorted(verdicts.items()))}")
    whole = hashlib.sha256("".join(f"{seed} {histories[0][seed]}\n" for seed in sorted(played)).encode())
    print(f"sha256 of all histories: {whole.hexdigest()}")
    return 0 if all(well for _, _, well in rows) else 1


def digests(out: Path) -> dict[int, str]:
    """Seed -> sha256 of the names and bytes of every file under history/."""
    found = {}
    for run in out.glob("*/*/run.json"):
        content = hashlib.sha256()
        history = run.parent / "history"
        for path in sorted(history.rglob("*")):
            content.update(f"{path.relative_to(history)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
        found[json.loads(run.read_text())["seed"]] = content.hexdigest()
    return found


def lines_run(data: Path, config: Path) -> dict[str, tuple[float, list[str]]]:
    """Part -> percent of its lines that ran, and those that did not."""
    measured = coverage.Coverage(data_file=str(data), config_file=str(config))
    measured.load()
    found = {}
    for part in MEASURED:
        lines, missing, places = 0, 0, list[str]()
        for path in modules(PACKAGE / part):
            _, executable, _, not_run, numbers = measured.analysis2(str(path))
            places += [f"{path.relative_to(PACKAGE)}: {numbers}"] if not_run else []
            lines, missing = lines + len(executable), missing + len(not_run)
        found[part] = 100 * (lines - missing) / lines, places
    return found


def importers(package: Path) -> list[str]:
    """FILE:LINE of every import of the simulator where none may be, at the top or inside of a function."""
    found = []
    for path in (path for part in UNAWARE for path in modules(package / part)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)]
            if any(name == bad or name.startswith(f"{bad}.") for name in names for bad in SIMULATOR):
                found.append(f"{path.relative_to(package)}:{node.lineno}")
    return found


def modules(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


if __name__ == "__main__":
    sys.exit(main())
