"""Every recorded scenario of tests/data/twin, or of another directory (--kc-scenarios), on our controller, step by step."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kcontroller_chaos.mutants.preferred_election_loop import MUTANT
from pytest_kcontroller.seams import installed
from tests.fidelity.scenarios.explained import EXPLAINED_STEPS, explained, seen_in
from tests.fidelity.scenarios.real import play_real
from tests.fidelity.scenarios.records import Entry, Record, compare, differences, shared_records
from tests.fidelity.scenarios.simulated import play_simulated


def _unexplained(record: Record, log: list[Entry]) -> list[str]:
    return [str(difference) for difference in compare(record, log, explained(record))]


def test_in_simulated_time(simulated: Record, tmp_path: Path) -> None:
    log = play_simulated(simulated, tmp_path)
    assert _unexplained(simulated, log) == []
    if any(simulated is record for record in shared_records()):
        needed = {one.what: one.records[simulated.name] for one in EXPLAINED_STEPS if simulated.name in one.records}
        assert seen_in(simulated, differences(simulated, log)) == needed


@pytest.mark.parametrize("name", ["1001", "1018", "1031", "1033"])
def test_with_kafkas_own_rule_put_back_there_is_no_difference_to_explain(name: str, tmp_path: Path) -> None:
    """Not the ones in which it never ends: those have no end to be compared with."""
    record = next(record for record in shared_records() if record.name == name)
    with installed(MUTANT):
        log = play_simulated(record, tmp_path)
    others = [one for one in EXPLAINED_STEPS if one.mutant != MUTANT.name]
    assert len(others) < len(EXPLAINED_STEPS)
    found = differences(record, log)
    assert [d for d in found if not any(one.differs(record, d) for one in others)] == []


def test_for_real(real: Record, tmp_path: Path) -> None:
    assert _unexplained(real, asyncio.run(play_real(real, tmp_path))) == []
