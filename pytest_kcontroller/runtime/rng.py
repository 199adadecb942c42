"""Random streams by name, drawn from one seed."""

from __future__ import annotations

import hashlib
import random

MOST_SEED = 2**63 - 1
"""0 to this, wherever a seed is named."""


class NamedRng:
    """`stream(name)` depends on the seed and the name only, not on PYTHONHASHSEED or on other streams."""

    def __init__(self, seed: int, prefix: str = "") -> None:
        self._seed, self._prefix = seed, prefix

    def stream(self, name: str) -> random.Random:
        digest = hashlib.sha256(f"{self._seed}/{self._prefix}{name}".encode()).digest()
        return random.Random(int.from_bytes(digest[:16], "big"))

    def child(self, name: str) -> NamedRng:
        """The streams of one process: `child("node-1").stream("x")` is `stream("node-1/x")`."""
        return NamedRng(self._seed, f"{self._prefix}{name}/")
