"""disk_full: there is no room for what a broker writes."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults._halting import Halting
from kcontroller_chaos.injection import Injection
from pytest_kcontroller.cluster.capabilities import SIZED_DISKS


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFull(Halting):
    """The node's disk is full: its next write fails, and it halts. Healing starts it again on a disk with room."""

    kind = "disk_full"
    example = """\
[[faults]]
kind = "disk_full"
target = "random"
at_s = 2
"""
    needs = (*Halting.needs, SIZED_DISKS)

    async def inject(self, on: Injection) -> None:
        await on.cluster.capability(SIZED_DISKS).fill_disk(on.node)

    def mend(self, on: Injection) -> None:
        on.cluster.capability(SIZED_DISKS).free_disk(on.node)
