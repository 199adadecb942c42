"""The answer to a request of which nothing is known but its API: no more than an error.

Where an answer has no error of its own but one for each topic or resource, it is an entry without a name.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from pytest_kcontroller.wire.errors import ErrorCode
from pytest_kcontroller.wire.message import Api, Response

R = TypeVar("R", bound=Response)

_ERROR = "error_code"
_BLANK = {int: 0, bool: False, float: 0.0, str: "", bytes: bytes(16)}
"""Of bytes, answers have uuids only."""


def refusal(kind: type[R], error: ErrorCode) -> R:
    """Of this kind of response, with no more in it than the error."""
    made, hints = _blank(kind), get_type_hints(kind)
    if _ERROR in hints:
        made.error_code = int(error)
        return cast(R, made)
    for name, hint in hints.items():
        if get_origin(hint) is list and _ERROR in get_type_hints(get_args(hint)[0]):
            entry = _blank(get_args(hint)[0])
            entry.error_code = int(error)
            setattr(made, name, [entry])
    return cast(R, made)


def nearest_version(api: Api, version: int) -> int:
    """The one that is spoken and most like `version`."""
    return min(max(version, api.min_version), api.max_version)


def _blank(kind: Any) -> Any:
    """Every field that must be given is nothing."""
    hints = get_type_hints(kind)
    needed = [f.name for f in fields(kind) if f.init and f.default is MISSING and f.default_factory is MISSING]
    return kind(**{name: _nothing(hints[name]) for name in needed})


def _nothing(hint: Any) -> Any:
    (hint,) = [one for one in get_args(hint) if one is not type(None)] if type(None) in get_args(hint) else [hint]
    return {list: [], tuple: ()}[get_origin(hint)] if get_origin(hint) else _BLANK[hint]
