"""The published schema takes what a campaign file may say."""

from __future__ import annotations

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kcontroller_chaos.campaign.keys import faults_section
from kcontroller_chaos.campaign.published import json_schema
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.catalogue.key import parameters
from kcontroller_chaos.catalogue.kind import Kind

STOCK = load_catalogue(installed=False)
SCHEMA = jsonschema.Draft202012Validator(json_schema(STOCK))
CAMPAIGNS = Path(__file__).parents[3] / "chaos/campaigns"
FILES = sorted(CAMPAIGNS.rglob("*.toml"))


def refused(said: dict[str, Any]) -> list[str]:
    """In JSON a date is a text."""
    as_json = json.loads(json.dumps(said, default=datetime.date.isoformat))
    return [f"{wrong.json_path}: {wrong.message}" for wrong in SCHEMA.iter_errors(as_json)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CAMPAIGNS)))
def test_every_campaign_of_ours(file: Path) -> None:
    assert refused(tomllib.loads(file.read_text())) == []


@pytest.mark.parametrize("kind", STOCK.kinds.values(), ids=STOCK.kinds)
def test_every_value_that_a_mode_of_a_fault_takes(kind: Kind) -> None:
    for one in kind.classes:
        for key in parameters(one):
            for value in (key.default, *key.choices, key.least, key.most):
                if value is not None:
                    fault = {"kind": kind.name, key.name: value}
                    assert refused({"campaign": {"name": "x", "duration_s": 1}, "faults": [fault]}) == []


@pytest.mark.parametrize("seeds", ["3", "1..20", "1,4,7", "1..3, 7", [4, 1]])
def test_seeds_in_every_spelling(seeds: object) -> None:
    assert refused({"campaign": {"name": "x", "duration_s": 1, "seeds": seeds}}) == []


@pytest.mark.parametrize("seeds", ["1..", "", "x", [], [-1]])
def test_no_seeds(seeds: object) -> None:
    assert refused({"campaign": {"name": "x", "duration_s": 1, "seeds": seeds}}) != []


def test_a_key_of_several_kinds_says_whose_it_is_and_what_each_has() -> None:
    (key,) = (key for key in faults_section(STOCK).keys if key.name == "delay_ms")
    assert (key.default, key.least, key.most) == (None, 0, 60_000)
    assert key.help == (
        "of late_ephemerals: so long after the end of the session (default 1000); "
        "of latency: how late, in each direction (default 200); of slow_close: how late (default 500)"
    )
    (key,) = (key for key in STOCK.kinds["slow_close"].keys if key.name == "direction")
    assert "from-node" in key.choices  # one of its two modes has no such direction
