"""The rules of the code base that a reader of source can check (CONTRIBUTING.md): each returns what breaks it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    ROOT / "pytest_kcontroller",
    ROOT / "plugins/kcontroller_plugins",
    ROOT / "chaos/kcontroller_chaos",
    ROOT / "reports/kcontroller_reports",
)
DETERMINISTIC = ("model", "controller", "broker", "stubs", "zookeeper", "wire", "sim")
"""Packages of pytest_kcontroller in which a run is a function of its seed; so is all of kcontroller_chaos."""

MODULE_LINES = 500
FUNCTION_LINES = 52

DOORS = {
    "pytest_kcontroller": {
        "__init__.py": "what a test imports for its annotations",
        "errors.py": "what can be raised",
        "hookspecs.py": "what plugins implement",
        "pytest_plugin.py": "what pytest loads",
        "seams.py": "what mutants are made of",
        "py.typed": "",
    },
    "kcontroller_chaos": {
        "__init__.py": "",
        "checking.py": "what an invariant is made of",
        "injection.py": "what a fault is made of",
        "feed.py": "the history as it grows: what a fault observes",
        "py.typed": "",
    },
}
"""Package -> the files at its top: public doors, and nothing else."""


def sources(*folders: Path) -> dict[str, str]:
    """File name, relative to the repository -> source; generated modules are not read by people."""
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    texts = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in files}
    return {name: text for name, text in texts.items() if not text.startswith("# Generated")}


def deterministic_sources() -> dict[str, str]:
    folders = [ROOT / "pytest_kcontroller" / name for name in DETERMINISTIC]
    return sources(*folders, ROOT / "chaos/kcontroller_chaos", ROOT / "plugins/kcontroller_plugins")


def long_modules(texts: Mapping[str, str], limit: int = MODULE_LINES) -> list[str]:
    counts = {name: len(text.splitlines()) for name, text in texts.items()}
    return [f"{name} has {count} lines, more than {limit}" for name, count in counts.items() if count > limit]


def long_functions(texts: Mapping[str, str], limit: int = FUNCTION_LINES) -> list[str]:
    return [
        f"{name}:{node.lineno}: {node.name} has {lines} lines, more than {limit}"
        for name, text in texts.items()
        for node in _functions(ast.parse(text))
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > limit
    ]


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def unsigned(texts: Mapping[str, str]) -> list[str]:
    """Modules and packages that do not say what they are for."""
    return [name for name, text in texts.items() if not ast.get_docstring(ast.parse(text))]


def packages_without_a_sign(roots: Iterable[Path]) -> list[str]:
    """Folders with modules and no `__init__.py`."""
    folders = {file.parent for root in roots for file in root.rglob("*.py")}
    return sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists())


def beside_the_doors(package: Path, doors: Iterable[str]) -> list[str]:
    """Files at the top of `package` that are no public doors."""
    files = {file.name for file in package.iterdir() if file.is_file()}
    return sorted(files - set(doors))


def premature_fragments(root: Path) -> list[str]:
    """News fragments of a project that has released nothing: all of it is new, and told in one entry of CHANGELOG.md."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    released = [line for line in text.splitlines() if line.startswith("## ") and "(not released yet)" not in line]
    return [] if released else sorted(path.name for path in (root / "changes").glob("*.md") if path.name != "README.md")
