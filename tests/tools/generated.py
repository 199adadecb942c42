"""What is written by the code and kept in the repository: schemas, tables and pages of the docs, wire messages.

`make generated` writes all of it; tests/meta/test_generated_files.py fails when a file is not what the code would write now.
A whole file is text from a function; a part of a page stands between two comments:

    <!-- generated: NAME -->
    ...
    <!-- end -->
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kcontroller_chaos.campaign import published
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.history import formats
from pytest_kcontroller.broker.clients import OF_CONTROLLER
from pytest_kcontroller.broker.handlers import OLDEST
from pytest_kcontroller.cluster.kafka import releases
from pytest_kcontroller.model import kafka_config
from pytest_kcontroller.wire.generate.modules import modules
from pytest_kcontroller.wire.generate.schema import load_schemas
from pytest_kcontroller.wire.messages import APIS
from tests.tools import controller_tables, fault_table, fidelity_tables

ROOT = Path(__file__).parents[2]


class NoSuchPartError(Exception):
    """A page has no place for a part that is generated into it, or more than one."""


@dataclass(frozen=True, slots=True)
class Generated:
    """`text()` is the file at `path` (relative to the repository), or its part named `part`."""

    path: str
    text: Callable[[], str]
    part: str | None = None

    @property
    def name(self) -> str:
        return self.path if self.part is None else f"{self.path}#{self.part}"

    def applied(self, current: str) -> str:
        """The file as it should be, from the file as it is. Raises NoSuchPartError."""
        return self.text() if self.part is None else with_part(current, self.part, self.text(), where=self.path)


def with_part(page: str, part: str, text: str, *, where: str) -> str:
    """`page` (the file `where`) with `text` between the comments of `part`, after an empty line. Raises NoSuchPartError."""
    place = re.compile(rf"(<!-- generated: {re.escape(part)} -->\n).*?(<!-- end -->\n)", re.DOTALL)
    written, count = place.subn(lambda found: f"{found[1]}\n{text.strip()}\n\n{found[2]}", page)
    if count != 1:
        raise NoSuchPartError(
            f"{where} has {count} places for a generated part, not one: write these two lines where it belongs"
            f"\n\n<!-- generated: {part} -->\n<!-- end -->"
        )
    return written


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, indent=2) + "\n"


def _wire_messages() -> Iterator[Generated]:
    for name, source in modules(load_schemas()).items():
        yield Generated(f"pytest_kcontroller/wire/messages/{name}", partial(str, source))


def _copy_of(path: str) -> Callable[[], str]:
    return lambda: (ROOT / path).read_text(encoding="utf-8")


def _campaign_schema() -> str:
    return _json(published.json_schema(load_catalogue(installed=False)))


def _fault_keys() -> Iterator[Generated]:
    for kind in load_catalogue(installed=False).kinds.values():
        if kind.keys:
            yield Generated("docs/faults.md", partial(published.parameters_table, kind), part=f"keys-of-{kind.name}")


def _served_versions() -> str:
    """What a node serves, as ApiVersions says it."""
    lines = ["| request | key | versions | answered by |", "|---|---|---|---|"]
    for key, api in sorted(APIS.items()):
        oldest = max(api.min_version, OLDEST.get(key, 0))
        versions = str(oldest) if oldest == api.max_version else f"{oldest} to {api.max_version}"
        by = "controller" if key in OF_CONTROLLER else "every node"
        lines.append(f"| {api.request.__name__.removesuffix('Request')} | {key} | {versions} | {by} |")
    return "\n".join(lines) + "\n"


FILES = (
    Generated("chaos/kcontroller_chaos/campaign/campaign.schema.json", _campaign_schema),
    Generated("docs/campaign.schema.json", _campaign_schema),
    Generated("docs/summary.schema.json", _copy_of("reports/kcontroller_reports/summary.schema.json")),
    Generated("docs/campaigns.md", lambda: published.docs_table(load_catalogue(installed=False)), part="campaign-keys"),
    Generated("docs/campaigns.md", published.actions_table, part="admin-actions"),
    Generated("docs/invariants.md", published.invariants_table, part="znode-invariants"),
    Generated("docs/clients.md", _served_versions, part="versions"),
    Generated("docs/kafka-settings.md", kafka_config.docs_table, part="kafka-settings"),
    Generated("docs/kafka-releases.md", releases.docs_table, part="releases"),
    *_fault_keys(),
    Generated("docs/faults.md", fault_table.table, part="faults-seen"),
    Generated("docs/controller.md", controller_tables.events_table, part="controller-events"),
    Generated("docs/controller.md", controller_tables.partition_machine, part="partition-machine"),
    Generated("docs/controller.md", controller_tables.replica_machine, part="replica-machine"),
    Generated("docs/controller.md", controller_tables.selectors_table, part="stock-selectors"),
    Generated("docs/fidelity.md", fidelity_tables.vectors_table, part="fidelity-vectors"),
    Generated("docs/fidelity.md", fidelity_tables.left_out_table, part="fidelity-left-out"),
    Generated("docs/fidelity.md", fidelity_tables.explained_table, part="fidelity-explained"),
    Generated("docs/fidelity.md", fidelity_tables.scenarios_table, part="fidelity-scenarios"),
    Generated("docs/fidelity.md", fidelity_tables.explained_steps_table, part="fidelity-steps"),
    Generated("docs/formats.md", formats.docs_tables, part="history-kinds"),
    *_wire_messages(),
)


def write_all() -> list[str]:
    """Writes what is not as it should be; returns the names of what was written."""
    written = []
    for one in FILES:
        path = ROOT / one.path
        current = path.read_text(encoding="utf-8") if path.exists() else ""
        if (wanted := one.applied(current)) != current:
            path.write_text(wanted, encoding="utf-8")
            written.append(one.name)
    return written


if __name__ == "__main__":
    try:
        names = write_all()
    except NoSuchPartError as missing:
        sys.exit(f"make generated: {missing}")
    print("\n".join(f"written: {name}" for name in names) or f"all {len(FILES)} were as they should be")
