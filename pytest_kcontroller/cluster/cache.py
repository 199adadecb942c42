"""What is kept from one run to the next: only what can be made again, and is found by what it was made from."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

CACHE = "KCONTROLLER_CACHE"
"""Names another directory; empty: nothing is kept."""


def cache_directory() -> Path | None:
    """Where it is kept: KCONTROLLER_CACHE, else `pytest-kcontroller` in the person's own cache (XDG_CACHE_HOME, ~/.cache).

    None: nowhere. It need not exist yet.
    """
    if (named := os.environ.get(CACHE)) is not None:
        return Path(named).absolute() if named else None
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home is known
        return None
    return base.absolute() / "pytest-kcontroller"


def keep_file(made: Path, kept: Path) -> None:
    """Copies `made` to `kept`, whole or not at all, whoever does the same meanwhile. Raises OSError."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix=f".{kept.name}-", dir=kept.parent)
    os.close(number)
    try:
        shutil.copyfile(made, name)
        Path(name).replace(kept)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
