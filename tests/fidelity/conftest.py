"""Vectors and scenarios of others.

pytest tests/fidelity --kc-vectors FILE     the vectors of that file, and nothing else
pytest tests/fidelity --kc-scenarios DIR    the recorded scenarios of that directory, and nothing else
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fidelity.judging import why_not_run
from tests.fidelity.scenarios.records import Record, RecordError, read_records, shared_records
from tests.fidelity.vectors import Vector, VectorFileError, load, shared

VECTORS = pytest.StashKey[list[Vector]]()
SCENARIOS = pytest.StashKey[list[Record]]()

PLAYED_FOR_REAL = ("1006", "1012", "1020", "1025", "1028", "1029")
"""Of the scenarios that are there: each takes some seconds. `make twin` plays all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fidelity", "Fidelity to Kafka's controller")
    group.addoption("--kc-vectors", metavar="FILE", help="run the vectors of this file, in the format of vectors.json")
    group.addoption("--kc-scenarios", metavar="DIR", help="play the recorded scenarios of this directory (*.json.gz)")


def pytest_configure(config: pytest.Config) -> None:
    try:
        if (file := config.getoption("kc_vectors", None)) is not None:
            config.stash[VECTORS] = load(Path(file))
        if (directory := config.getoption("kc_scenarios", None)) is not None:
            config.stash[SCENARIOS] = read_records(Path(directory))
    except (VectorFileError, RecordError) as bad:
        raise pytest.UsageError(str(bad)) from None


def _given(config: pytest.Config) -> bool:
    return VECTORS in config.stash or SCENARIOS in config.stash


def _vectors(config: pytest.Config) -> list[Vector]:
    return config.stash[VECTORS] if VECTORS in config.stash else [] if _given(config) else shared()


def _simulated(config: pytest.Config) -> list[Record]:
    return config.stash[SCENARIOS] if SCENARIOS in config.stash else [] if _given(config) else [*shared_records()]


def _real(config: pytest.Config) -> list[Record]:
    records = _simulated(config)
    return records if SCENARIOS in config.stash else [record for record in records if record.name in PLAYED_FOR_REAL]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names, config = metafunc.fixturenames, metafunc.config
    if "vector" in names:
        run = [vector for vector in _vectors(config) if why_not_run(vector) is None]
        metafunc.parametrize("vector", [pytest.param(vector, id=vector.id) for vector in run])
    for name, records in (("simulated", _simulated), ("real", _real)):
        if name in names:
            metafunc.parametrize(name, [pytest.param(record, id=record.name) for record in records(config)])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if _given(config):
        config.hook.pytest_deselected(items=[item for item in items if not _is_given(item)])
        items[:] = filter(_is_given, items)


def _is_given(item: pytest.Item) -> bool:
    """One of a vector or a scenario; those that there are now are all of what was named."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return any(isinstance(value, Vector | Record) for value in parameters.values())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if VECTORS not in config.stash:
        return
    left_out = [(vector, why) for vector in _vectors(config) if (why := why_not_run(vector)) is not None]
    if left_out:
        terminalreporter.section("vectors that were not run")
        for vector, why in left_out:
            terminalreporter.line(f"{vector.id}: {why}")
