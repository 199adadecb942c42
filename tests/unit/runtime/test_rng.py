from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_kcontroller.runtime.rng import NamedRng


def test_a_stream_depends_on_seed_and_name_only() -> None:
    rng = NamedRng(7)
    first = rng.stream("schedule/fault-3").random()
    rng.stream("another").random()
    assert rng.stream("schedule/fault-3").random() == first
    assert NamedRng(7).stream("schedule/fault-3").random() == first
    assert NamedRng(8).stream("schedule/fault-3").random() != first
    assert rng.stream("schedule/fault-4").random() != first


def test_a_child_prefixes_the_names() -> None:
    assert NamedRng(7).child("node-1").stream("x").random() == NamedRng(7).stream("node-1/x").random()


def test_the_sequence_is_what_it_was() -> None:
    """Old seeds must give old schedules: a change here is a change of every campaign."""
    assert [NamedRng(1).stream("a").randrange(1000) for _ in range(2)] == [15] * 2


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_it_does_not_depend_on_the_hash_seed(hash_seed: str) -> None:
    program = "from pytest_kcontroller.runtime.rng import NamedRng; print(NamedRng(7).stream('x').random())"
    surroundings = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=surroundings)
    assert float(ran.stdout) == NamedRng(7).stream("x").random()
