"""Values that are made by the hundred thousand: frozen for the type checkers, and as cheap to make as any object.

A frozen dataclass sets each field through `object.__setattr__`, which makes it three times as dear as this. Whatever plugins
get to see is frozen indeed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    import dataclasses

    def value(*, frozen, **options):
        """`@value(frozen=True, slots=True)`: dataclasses.dataclass, whose instances have a hash and nobody changes."""
        return dataclasses.dataclass(unsafe_hash=frozen, **options)


__all__ = ["value"]
