"""A thin door: seams and mutants stand in `pytest_kcontroller.seams`; import them from there, or as before."""

from __future__ import annotations

from pytest_kcontroller.seams import (
    Mutant,
    MutantDoesNotApplyError,
    check_applies,
    counts,
    installed,
    original,
    seam,
    unchanged,
)

__all__ = ["Mutant", "MutantDoesNotApplyError", "check_applies", "counts", "installed", "original", "seam", "unchanged"]
