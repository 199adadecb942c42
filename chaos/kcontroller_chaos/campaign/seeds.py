"""Seeds as they are written, in a campaign file and on the command line."""

from __future__ import annotations

import re

from kcontroller_chaos.catalogue.key import shown
from pytest_kcontroller.runtime.rng import MOST_SEED

MOST_SEEDS = 1_000_000


def parse_seeds(value: object) -> tuple[int, ...]:
    """`"1..50"`, `"3"`, `"1,4,7"` or a list of whole numbers. Raises ValueError."""
    if isinstance(value, list):
        if not value or not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in value):
            raise ValueError("a list of seeds has whole numbers, at least one")
        if wrong := [seed for seed in value if not 0 <= seed <= MOST_SEED]:
            raise ValueError(f"{shown(wrong[0])} is no seed: 0 to {MOST_SEED}")
        return tuple(dict.fromkeys(value))
    seeds: list[int] = []
    for part in str(value).split(","):
        found = re.fullmatch(r"\s*([0-9]{1,19})(?:\.\.([0-9]{1,19}))?\s*", part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise ValueError(f'{shown(value)} is not seeds: write "1..20", "3" or "1,4,7"')
        first, last = int(found[1]), int(found[2] or found[1])
        if last > MOST_SEED:
            raise ValueError(f"{last} is no seed: 0 to {MOST_SEED}")
        if len(seeds) + last - first >= MOST_SEEDS:
            raise ValueError(f"{value!r} is more than {MOST_SEEDS:,} seeds")
        seeds += range(first, last + 1)
    return tuple(dict.fromkeys(seeds))
