"""`@pytest.mark.kcontroller(backends=["process"])`: a test that is not for every backend is deselected on the others."""

from __future__ import annotations

import pytest

from pytest_kcontroller.options import BACKENDS, read_settings

NAMES = ("nodes", "session_timeout_ms", "selectors", "assignment", "config", "backends")
"""What people write; the fixtures know the rest."""

deselected_key = pytest.StashKey[int]()


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Raises pytest.UsageError for a marker that names no backend, or has arguments without a name."""
    for item in items:
        _named_only(item)
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
    backend = read_settings(config).backend
    return f"kcontroller: {tests} deselected, not for --kc-backend={backend} (marker: backends, or crash points)"


def _backends(item: pytest.Item) -> tuple[str, ...]:
    """By the nearest marker that says it."""
    for mark in item.iter_markers("kcontroller"):
        if "backends" in mark.kwargs:
            named = mark.kwargs["backends"]
            if not isinstance(named, list | tuple) or not all(name in BACKENDS for name in named):
                where = f"{place(item)}: the marker kcontroller: backends={named!r}"
                hint = f"\n  -> write backends=[{', '.join(repr(name) for name in BACKENDS)}], or one of them"
                raise pytest.UsageError(f"{where}: must be a list of {', '.join(BACKENDS)}{hint}")
            return tuple(named)
    return BACKENDS


def _named_only(item: pytest.Item) -> None:
    """Without a name an argument would be for nobody, and the test would run on another cluster than it says."""
    for mark in item.iter_markers("kcontroller"):
        if mark.args:
            given = ", ".join([*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())])
            number = type(mark.args[0]) is int
            hint = f"write @pytest.mark.kcontroller(nodes={mark.args[0]})" if number else f"name it: {', '.join(NAMES)}"
            what = f"@pytest.mark.kcontroller({given}): its arguments have names\n  -> {hint}"
            raise pytest.UsageError(f"{place(item)}: {what}")


def place(node: pytest.Item | pytest.Collector) -> str:
    """FILE:LINE and the test; a module's own name."""
    if not isinstance(node, pytest.Item):
        return node.nodeid
    file, line, name = node.location
    return f"{file}:{line + 1}: {name}" if line is not None else f"{file}: {name}"
