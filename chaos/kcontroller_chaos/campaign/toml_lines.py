"""Where in a TOML file a key stands: tomllib gives values without positions, and a person needs the line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADER = re.compile(r"^\s*(\[\[?)\s*([\w.-]+)\s*\]\]?")
_KEY = re.compile(r"""^\s*["']?([\w.-]+)["']?\s*=""")


@dataclass(slots=True)
class Lines:
    """Line numbers from 1 of `[section]`, of the n-th `[[section]]`, and of the keys below them."""

    headers: dict[tuple[str, int], int] = field(default_factory=dict)
    keys: dict[tuple[str, int, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Lines:
        lines, section, index = cls(), "", 0
        counts: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if header := _HEADER.match(line):
                section = header[2]
                index = counts.get(section, 0) if header[1] == "[[" else 0
                counts[section] = index + 1
                lines.headers.setdefault((section, index), number)
            elif key := _KEY.match(line):
                lines.keys.setdefault((section, index, key[1]), number)
        return lines

    def find(self, section: str, index: int, key: str, inner: str = "") -> int:
        """The key's line (with `inner`: that of this key below `[section.key]`), else its section's, else 1."""
        table = f"{section}.{key}"
        at = self.keys.get((table, 0, inner)) or self.headers.get((table, 0))
        at = at or self.keys.get((section, index, key)) or self.headers.get((section, index))
        return at or self.keys.get(("", 0, section)) or 1
