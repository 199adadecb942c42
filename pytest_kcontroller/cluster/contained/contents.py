"""What is in the image of the nodes: what a node imports here, as it is here, with the versions that are here.

Files are copied, not installed: no package index is asked, and a node runs the code that its harness does, also where that
is a clone. So the image's Python must be of the version of this one.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution
from pathlib import Path, PurePosixPath

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.plugin.manager import ENTRY_POINT_GROUP, PATH_VARIABLE

DISTRIBUTION = "pytest-kcontroller"
EXTRAS = ("toxiproxy",)
"""The embedded proxies run there too."""
OURS = ("pytest_kcontroller", "kcontroller_plugins", "kcontroller_chaos")
"""As they are imported, which is not always where the distribution is."""
NOT_NEEDED = ("pytest", "toxiproxy-python")
"""By what runs in the image, unless the project wants it there."""
REQUIREMENTS_VARIABLE = "KCONTROLLER_NODE_REQUIREMENTS"

Files = dict[str, Path]
"""Path in the image, relative -> path here."""


def requirements() -> tuple[str, ...]:
    """What the project wants in the image besides: names of installed distributions, or paths; blanks in quotes."""
    words = shlex.shlex(os.environ.get(REQUIREMENTS_VARIABLE, ""), posix=True, punctuation_chars=False)
    words.whitespace += ","
    words.whitespace_split, words.commenters = True, ""
    try:
        return tuple(words)
    except ValueError as bad:
        raise UsageError(
            f"what is in the nodes' image cannot be read: {bad}", where=f"${REQUIREMENTS_VARIABLE}"
        ) from None


def others(plugins: Sequence[str]) -> Files:
    """What is not ours: dependencies, installed plugins, plugins by import name, and what `requirements` says.

    Raises UsageError.
    """
    names = [point.dist.name for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP) if point.dist]
    folders = list[Path]()
    for wanted in requirements():
        (folders if os.sep in wanted or Path(wanted).exists() else names).append(wanted)  # type: ignore[arg-type]
    found: Files = {}
    for distribution in _with_dependencies([f"{DISTRIBUTION}[{','.join(EXTRAS)}]", *names]):
        if _key(distribution.name) == DISTRIBUTION:
            continue
        found |= _files_of(distribution)
    for module in plugins:
        top = module.partition(".")[0]
        if top not in OURS:
            found |= _module(top)
    for folder in folders:
        found |= _folder(Path(folder))
    return found


def ours() -> Files:
    found: Files = {}
    for name in OURS:
        found |= _module(name)
    return found


def with_compiled(files: Mapping[str, Path]) -> Files:
    """With what Python has compiled of them already: each node is a new process."""
    found = dict(files)
    for name, path in files.items():
        if path.suffix == ".py":
            compiled = Path(importlib.util.cache_from_source(str(path)))
            if compiled.is_file():
                found[str(PurePosixPath(name).parent / "__pycache__" / compiled.name)] = compiled
    return found


def _with_dependencies(wanted: Iterable[str]) -> Iterator[Distribution]:
    from packaging.requirements import InvalidRequirement, Requirement

    asked, seen = "a node's image", set[tuple[str, tuple[str, ...]]]()
    try:
        waiting = [(Requirement(each), asked) for each in wanted]
    except InvalidRequirement as bad:
        hint = "name an installed distribution, or the path of a package"
        raise UsageError(f"is no name of a distribution: {bad}", where="kc_node_requirements", hint=hint) from None
    given = set[str]()
    while waiting:
        requirement, by = waiting.pop()
        extras = tuple(sorted(requirement.extras))
        name = _key(requirement.name)
        if (name, extras) in seen or (name in NOT_NEEDED and by != asked):
            continue
        seen.add((name, extras))
        try:
            distribution = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            raise UsageError(
                f"{requirement.name} is not installed here, and {by} is made of what is",
                hint=f"pip install {requirement.name!r}, or leave it out of kc_node_requirements",
            ) from None
        for text in distribution.requires or ():
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
                waiting.append((needed, distribution.name))
        if name not in given:
            given.add(name)
            yield distribution


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files_of(distribution: Distribution) -> Files:
    if distribution.files is None:
        raise UsageError(
            f"{distribution.name} is installed in a way that does not say which files it has: there is no RECORD",
            hint="install it with pip, in a virtual environment",
        )
    found: Files = {}
    editable = _is_editable(distribution)
    for file in distribution.files:
        path = Path(str(distribution.locate_file(file)))
        if file.suffix == ".pth":  # of others it does something at the start of a Python, as coverage's does
            found |= _editable(path, distribution.name) if editable else {}
        elif ".." not in file.parts and file.suffix != ".pyc" and path.is_file():
            found[file.as_posix()] = path
    return found


def _is_editable(distribution: Distribution) -> bool:
    """As its installer has written down (PEP 610, PEP 660)."""
    told = json.loads(distribution.read_text("direct_url.json") or "{}")
    return bool(told.get("dir_info", {}).get("editable"))


def _editable(pth: Path, name: str) -> Files:
    """What an editable installation's .pth says: folders with packages."""
    found: Files = {}
    for line in pth.read_text(encoding="utf-8").splitlines():
        if line.startswith("import "):
            raise UsageError(
                f"{name} is installed in a way that does not say where its files are: {pth.name}",
                hint="name the folders of its packages in kc_node_requirements",
            )
        for entry in sorted(Path(line).iterdir()) if line and Path(line).is_dir() else []:
            if (entry / "__init__.py").is_file() or (entry.suffix == ".py" and entry.name != "setup.py"):
                found |= _folder(entry)
    return found


def _module(name: str) -> Files:
    """Of the top-level module or package `name`, as it would be imported here."""
    path = [*sys.path, *filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep))]
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None:
        raise UsageError(
            f"there is no module {name!r}",
            hint="install it, or put its folder on PYTHONPATH: the nodes' image needs it",
        )
    if spec.submodule_search_locations is None:
        return {} if spec.origin is None else _folder(Path(spec.origin))
    found: Files = {}
    for location in spec.submodule_search_locations:
        found |= _folder(Path(location))
    return found


def _folder(path: Path) -> Files:
    """A module, or all of a package's folder, under its own name. Raises UsageError."""
    if path.is_file():
        return {path.name: path}
    if not path.is_dir():
        hint = "name an installed distribution, or the path of a package"
        raise UsageError(f"there is no {path}", where="kc_node_requirements", hint=hint)
    path = path.resolve()
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]
    return {file.relative_to(path.parent).as_posix(): file for file in files}
