"""README and docs/ as what is in them: fenced blocks, and the command lines of indented and console blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r'^```(?P<language>\w*)(?:.*?title="(?P<title>[^"]+)")?')
_EXCUSE = re.compile(r"^<!-- not executed: (?P<reason>\S.*\S) -->$")
_INCLUDE = '--8<-- "'


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `line` is where its text begins. One with a title is a file of that name."""

    page: Path
    line: int
    language: str
    title: str | None
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    page: Path
    line: int
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def blocks(*pages: Path) -> list[Block]:
    """All fenced blocks, but those that a comment right before excuses: `<!-- not executed: REASON -->`."""
    return [block for page in pages or PAGES for block, _ in _parsed(page) if block is not None]


def commands(program: str, *pages: Path) -> list[Command]:
    """The lines of indented and console blocks that call `program`."""
    found = []
    for page in pages or PAGES:
        for block, line in _parsed(page):
            lines = enumerate(block.text.splitlines(), block.line) if block and block.language == "console" else ()
            for number, text in [line] if line else lines:
                said = text.strip().removeprefix("$ ")
                if said.split(" ", 1)[0] == program:
                    found.append(Command(page, number, said))
    return found


def section(page: Path, title: str) -> str:
    """The text below `## title`, up to the next heading of that level; empty: there is none."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def sections(page: Path) -> list[str]:
    return re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)


def _parsed(page: Path) -> Iterator[tuple[Block | None, tuple[int, str] | None]]:
    """Fenced blocks, and single lines of indented ones."""
    lines = page.read_text().splitlines()
    number, before = 0, ""
    while number < len(lines):
        line = lines[number]
        number += 1
        if fence := _FENCE.match(line):
            start = number
            while lines[number] != "```":
                number += 1
            text = "\n".join(lines[start:number]) + "\n"
            number += 1
            if not _EXCUSE.match(before) and not text.startswith(_INCLUDE):
                yield Block(page, start + 1, fence["language"], fence["title"], text), None
        elif line.startswith("    "):
            yield None, (number, line)
        before = line.strip() or before
