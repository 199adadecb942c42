"""What the site does to a page's tables: a cell knows the name of its column, and a long name may go on in the next line.

So a small screen shows each row as a block of its own and no column is lost (extra.css).
"""

from __future__ import annotations

import re
from itertools import count

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def on_page_content(html: str, **_: object) -> str:
    """Called by mkdocs for each page, after its Markdown has become HTML."""
    return _TABLE.sub(lambda table: _labelled(table.group()), html)


def _labelled(table: str) -> str:
    heads = [_TAG.sub("", head).strip().replace('"', "&quot;") for head in _HEAD.findall(table)]
    return _CODE.sub(lambda code: _breakable(code.group()), _ROW.sub(lambda row: _cells(row.group(), heads), table))


def _cells(row: str, heads: list[str]) -> str:
    number = count()
    return re.sub(r"<td(?=[ >])", lambda _: f'<td data-label="{heads[next(number)]}"', row)


def _breakable(code: str) -> str:
    """A name may be broken after a sign that joins its parts."""
    return re.sub(r"(?<=\w)([/._:-])(?=\w)", r"\1<wbr>", code)
