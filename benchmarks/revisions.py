"""Older revisions of the repository, measured by today's scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """A checkout of it, removed at the end."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def measured_in(tree: Path, script: str, *arguments: str) -> Any:
    """What `script --json` of today prints when it imports the packages of `tree`."""
    paths = [str(tree), *(str(tree / name) for name in ("plugins", "chaos", "reports"))]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, script, "--json", *arguments]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout)
