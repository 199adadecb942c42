"""Values that are made by the hundred thousand: frozen for the type checkers, and as cheap to make as any object.

A frozen dataclass sets each field through `object.__setattr__`, which makes it three times as dear as this. So whatever a
plugin gets to see is no `value`: it is frozen indeed.

A class that is called with keywords puts them into a dictionary first, which a function does not do: `maker` of a class is a
function that is called like it, in a third of the time.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

K = TypeVar("K", bound=type)

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen, **options):
        """`@value(frozen=True, slots=True)`: dataclasses.dataclass, whose instances have a hash and nobody changes."""
        return dataclasses.dataclass(unsafe_hash=frozen, **options)


def maker(kind: K) -> K:
    """Makes instances of `kind`, a dataclass or a `value` without `__post_init__` or default factories; by keyword only."""
    fields = dataclasses.fields(kind)
    if hasattr(kind, "__post_init__") or any(field.default_factory is not dataclasses.MISSING for field in fields):
        raise TypeError(f"{kind.__name__} does more when it is made than take over its fields")
    names: dict[str, Any] = {"kind": kind, "new": object.__new__}
    names |= {f"default_{field.name}": field.default for field in fields}
    parameters = [
        field.name if field.default is dataclasses.MISSING else f"{field.name}=default_{field.name}"
        for field in fields
        if field.init
    ]
    assignments = [f"made.{field.name} = {field.name if field.init else f'default_{field.name}'}" for field in fields]
    source = [f"def make(*, {', '.join(parameters)}):", "made = new(kind)", *assignments, "return made"]
    exec("\n    ".join(source), names)
    made: K = names["make"]
    return made


__all__ = ["maker", "value"]
