"""Nobody but the registry knows backends by name: who must treat them differently asks for a property."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcontroller_chaos import backends

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "pytest_kcontroller",
    "chaos/kcontroller_chaos",
    "plugins/kcontroller_plugins",
    "reports/kcontroller_reports",
)
REGISTRY = ROOT / "chaos/kcontroller_chaos/backends/__init__.py"
OTHER_MEANINGS = {
    ("pytest_kcontroller/cli/_leftovers.py", "process"): "a kind of what is left over",
    ("chaos/kcontroller_chaos/injection.py", "process"): "what a fault needs for itself of its node",
    ("pytest_kcontroller/cli/_probes.py", "kafka"): "where releases come from",
    ("pytest_kcontroller/cli/doctor.py", "kafka"): "where releases come from",
    ("pytest_kcontroller/fixtures/definitions.py", "kafka"): "what --kc-require calls it",
    ("pytest_kcontroller/fixtures/options.py", "kafka"): "what --kc-require calls it",
    ("pytest_kcontroller/cluster/kafka/jars.py", "kafka"): "a directory",
    **dict.fromkeys(
        [
            ("pytest_kcontroller/cli/_probes.py", "docker"),
            ("pytest_kcontroller/cluster/docker/containers.py", "docker"),
            ("pytest_kcontroller/cluster/docker/network.py", "docker"),
            ("pytest_kcontroller/fixtures/definitions.py", "docker"),
            ("pytest_kcontroller/fixtures/options.py", "docker"),
        ],
        "the engine, its command, or the extra that asks it",
    ),
    ("chaos/kcontroller_chaos/backends/kafka.py", "kafka"): "whose version it is",
}
CHOICE = re.compile(rf"backends?(?:=| |\[)+['\"]?({'|'.join(backends.NAMES)})\b")
"""Such as `--backend sim`, `--kc-backend=process`, `backends=["process"]`."""


def named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name, wherever a text is a backend's name, or chooses one; docstrings and the examples of a command's help
    tell a person what to type, and decide nothing."""
    told = {id(node) for node in ast.walk(tree) if _is_docstring(node)}
    for call in ast.walk(tree):
        if isinstance(call, ast.keyword) and call.arg == "examples":
            told |= {id(node) for node in ast.walk(call.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            if node.value in backends.NAMES:
                yield node.lineno, node.value
            elif found := CHOICE.search(node.value):
                yield node.lineno, found.group(1)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and getattr(node, "is_docstring", False)


def parsed(source: str) -> ast.AST:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.is_docstring = True  # type: ignore[attr-defined]
    return tree


def test_no_file_but_the_registry_names_a_backend() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path != REGISTRY
        for line, name in named(parsed(path.read_text(encoding="utf-8")))
        if (str(path.relative_to(ROOT)), name) not in OTHER_MEANINGS
    ]
    assert not found, "ask for a property of kcontroller_chaos.backends.Backend instead:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        'if backend == "sim": ...',
        'hint = "use --backend sim"',
        'f"--kc-backend=process {x}"',
        'mark(backends=["process"])',
    ],
)
def test_the_rule_sees_a_name(source: str) -> None:
    assert [name for _, name in named(parsed(source))]


@pytest.mark.parametrize(
    "source", ['"""For --backend sim."""', 'explain(p, examples=["x --backend sim"])', 'a = "the process of a node"']
)
def test_the_rule_leaves_the_rest_alone(source: str) -> None:
    assert not list(named(parsed(source)))


@pytest.mark.parametrize("backend", backends.BACKENDS, ids=lambda backend: backend.name)
def test_each_entry_has_a_module_with_what_is_asked_of_it(backend: backends.Backend) -> None:
    module = backend.load()
    wanted = ["check", "versions", "start_of", "play"] + ([] if backend.simulated else ["new_run"])
    assert [name for name in wanted if not callable(getattr(module, name, None))] == []
