"""`kcontroller doctor`: what is here, what can run with it, and how to get the rest."""

from __future__ import annotations

import argparse
import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcontroller_chaos.backends import BACKENDS, DEFAULT, backend
from pytest_kcontroller import __version__
from pytest_kcontroller.cli import explain
from pytest_kcontroller.cli._json import print_json
from pytest_kcontroller.cli._text import columns, labelled

if TYPE_CHECKING:
    from pytest_kcontroller.cli._probes import Finding

NAME = "doctor"
HELP = "say what is here, what can run with it, and how to get what is missing"

ENVIRONMENT = 6


@dataclass(frozen=True, slots=True)
class Feature:
    """What somebody may want to use, and the probes that it cannot do without."""

    name: str
    needs: tuple[str, ...]
    required: bool = False
    """Whether doctor's exit status depends on it."""


CLUSTER = backend(DEFAULT).needs
SURROUNDINGS = tuple(need for need in CLUSTER if need not in ("java", "zookeeper"))
FEATURES = (
    *(Feature(f"backend {each.name}", each.needs, required=each.name == DEFAULT) for each in BACKENDS),
    Feature("fixtures kcluster, zookeeper, zk", CLUSTER, required=True),
    Feature("fixture toxiproxy", ("proxies", "toxiproxy client")),
    Feature("campaigns", CLUSTER, required=True),
    Feature("report", ("java", "spark", "jinja2", "matplotlib")),
    Feature("fixture kafka_release", ("java", "kafka", "temporary")),
    Feature("ZooKeeper in a container", ("docker client", "docker engine", *SURROUNDINGS)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument(
        "--kafka",
        metavar="VERSION",
        help="also get that release of Apache Kafka, through Maven, and start a broker of it",
    )
    explain(
        parser,
        examples=["kcontroller doctor", "kcontroller doctor --json", "kcontroller doctor --kafka 3.9.1"],
        statuses="0 fixtures and campaigns can run here (and that release), 6 something that they need is missing",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_kcontroller.cli._probes import look
    from pytest_kcontroller.cluster.kafka.releases import check_release

    if args.kafka is not None:
        check_release(args.kafka)
    findings = {finding.name: finding for finding in look(args.kafka)}
    ready = all(not _lacks(feature, findings) for feature in FEATURES if feature.required)
    ready = ready and findings.get(f"kafka {args.kafka}", findings["python"]).status != "missing"
    if args.json:
        print_json(_record(findings, ready))
    else:
        print("\n".join(_text(findings, ready)))
    return 0 if ready else ENVIRONMENT


def _lacks(feature: Feature, findings: Mapping[str, Finding]) -> list[Finding]:
    return [findings[name] for name in feature.needs if findings[name].status == "missing"]


def _record(findings: Mapping[str, Finding], ready: bool) -> dict[str, object]:
    features = [
        {"name": feature.name, "ready": not (lacks := _lacks(feature, findings)), "lacks": [f.name for f in lacks]}
        for feature in FEATURES
    ]
    found = [dataclasses.asdict(finding) for finding in findings.values()]
    return {"version": __version__, "ready": ready, "findings": found, "features": features}


def _text(findings: Mapping[str, Finding], ready: bool) -> list[str]:
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    lines = [f"pytest-kcontroller {__version__}, {system}", "", "What is here:"]
    width = max(map(len, findings)) + 8
    lines += labelled([(f"{f.status:<8}{f.name}".ljust(width), f.found) for f in findings.values()], indent="  ")
    lines += ["", "What can run:"]
    rows = []
    for feature in FEATURES:
        lacks = ", ".join(finding.name for finding in _lacks(feature, findings))
        rows.append(("not yet" if lacks else "ready", feature.name, f"it lacks: {lacks}" if lacks else ""))
    lines += columns(rows, indent="  ")
    advised = [(finding.name, finding.how) for finding in findings.values() if finding.how]
    if advised:
        lines += ["", "What to do:", *labelled(advised, indent="  ")]
    answer = "Fixtures and campaigns can run here." if ready else "Fixtures and campaigns cannot run here yet."
    return [*lines, "", answer]
