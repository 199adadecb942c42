"""`@pytest.mark.kcontroller(backends=["process"])`: a test that is not for every backend is deselected on the others."""

from __future__ import annotations

import pytest

from pytest_kcontroller.options import BACKENDS, read_settings

deselected_key = pytest.StashKey[int]()


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raises pytest.UsageError for a marker that names no backend."""
    backend = read_settings(config).backend
    others = [item for item in items if backend not in _backends(item)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if backend in _backends(item)]
    config.stash[deselected_key] = len(others)


def told(config: pytest.Config) -> str | None:
    """What the run says about it: without it a test would be missing and nobody knew why."""
    if not (count := config.stash.get(deselected_key, 0)):
        return None
    tests = "1 test is" if count == 1 else f"{count} tests are"
    return f"kcontroller: {tests} deselected, not for --kc-backend={read_settings(config).backend} (marker: backends)"


def _backends(item: pytest.Item) -> tuple[str, ...]:
    """By the nearest marker that says it."""
    for mark in item.iter_markers("kcontroller"):
        if "backends" in mark.kwargs:
            named = mark.kwargs["backends"]
            if not isinstance(named, list | tuple) or not set(named) <= set(BACKENDS):
                where = f"{item.nodeid}: the marker kcontroller: backends={named!r}"
                raise pytest.UsageError(f"{where}: must be a list of {', '.join(BACKENDS)}")
            return tuple(named)
    return BACKENDS
