"""log_dir_failure: a broker can read and write its log directory no more."""

from __future__ import annotations

from dataclasses import dataclass

from kcontroller_chaos.faults._halting import Halting
from kcontroller_chaos.injection import Injection
from pytest_kcontroller.cluster.capabilities import DISKS


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirFailure(Halting):
    """The node's disk fails: with its next read or write it finds out that its log directory has failed, the only one that
    it has, and halts. Healing starts it again on the disk as it was."""

    kind = "log_dir_failure"
    example = """\
[[faults]]
kind = "log_dir_failure"
target = "leader-of:orders-0"
at_s = 2
"""

    async def inject(self, on: Injection) -> None:
        on.cluster.capability(DISKS).fail_disk(on.node)
