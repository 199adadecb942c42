"""What is said to somebody who wrote a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], *, before: str = "") -> str:
    """A hint: the known name that is most like `name`, else all of them. `before`: a name ends where this stands."""

    def named(text: str) -> str:
        return text.partition(before)[0] if before else text

    names = {named(text): text for text in sorted(known)}
    close = difflib.get_close_matches(named(name), names, n=1)
    return f"did you mean `{names[close[0]]}`?" if close else f"there are: {', '.join(names.values()) or 'none'}"
