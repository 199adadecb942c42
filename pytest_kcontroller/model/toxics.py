"""What is done to the bytes on a link, in toxiproxy's words: real links have its toxics, simulated ones behave as these do.

| type | attributes | what |
|---|---|---|
| `latency` | `latency` ms, `jitter` ms | each chunk is late by `latency` +- `jitter`, drawn evenly; the order stays |
| `bandwidth` | `rate` kB/s | no more than so many thousand bytes a second |
| `slow_close` | `delay` ms | the end of what is said is passed on so much later |
| `timeout` | `timeout` ms | nothing passes; after `timeout` of silence the connection is closed (0: never) |
| `reset_peer` | `timeout` ms | `timeout` after something is said the connection breaks |
| `slicer` | `average_size` B, `size_variation` B, `delay` us | chunks are cut into pieces, `delay` after each other |
| `limit_data` | `bytes` | after so many bytes the connection is closed |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Stream = Literal["upstream", "downstream"]
Direction = Literal["both", "upstream", "downstream"]
"""`upstream`: what the source of a link, who connects, says to its target; `downstream`: what it hears from it."""
STREAMS: Final[tuple[Stream, ...]] = ("upstream", "downstream")

LATENCY, BANDWIDTH, SLOW_CLOSE, TIMEOUT = "latency", "bandwidth", "slow_close", "timeout"
RESET_PEER, SLICER, LIMIT_DATA = "reset_peer", "slicer", "limit_data"


@dataclass(frozen=True, slots=True)
class Toxic:
    """One on one direction of a link; a link has at most one of a type in a direction."""

    type: str
    stream: Stream
    attributes: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As on a proxy server."""
        return f"{self.type}_{self.stream}"

    @property
    def is_cut(self) -> bool:
        """Whether nothing passes, and nobody is told."""
        return self.type == TIMEOUT and not self.attributes.get("timeout", 0)

    def __str__(self) -> str:
        """What is said of a link that has it: "which was ..."."""
        if self.is_cut:
            return f"cut {self.stream}"
        if self.type == LATENCY:
            jitter = self.attributes.get("jitter", 0)
            spread = f" +- {jitter}" if jitter else ""
            return f"late by {self.attributes['latency']}{spread} ms {self.stream}"
        said = ", ".join(f"{name} {value}" for name, value in self.attributes.items())
        return f"under {self.type} ({said}) {self.stream}"


def streams_of(direction: Direction) -> tuple[Stream, ...]:
    return STREAMS if direction == "both" else (direction,)


def cut_toxics(direction: Direction = "both") -> tuple[Toxic, ...]:
    """Nothing passes, connections stay open: how a network looks when packets vanish."""
    return tuple(Toxic(TIMEOUT, stream, {"timeout": 0}) for stream in streams_of(direction))


def slow_toxics(delay_ms: int, jitter_ms: int = 0, direction: Direction = "both") -> tuple[Toxic, ...]:
    return tuple(Toxic(LATENCY, one, {"latency": delay_ms, "jitter": jitter_ms}) for one in streams_of(direction))


def same(there: Iterable[Toxic], wanted: Toxic) -> bool:
    """Whether `wanted` is among those that are there, whatever attributes they have besides."""
    return any(
        one.name == wanted.name and wanted.attributes.items() <= one.attributes.items()  # as a server has defaults
        for one in there
    )
