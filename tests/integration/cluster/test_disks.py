"""What a node keeps, whichever backend it is on: a disk that has failed has it still, and a new one has nothing."""

from __future__ import annotations

from typing import Any

from pytest_kcontroller.cluster.capabilities import DISKS, REPORTS
from pytest_kcontroller.cluster.contract import Cluster
from tests.integration.cluster.conftest import not_in_containers

pytestmark = not_in_containers([DISKS, REPORTS])  # a broker of Kafka's is under the same hands as our nodes


def test_a_disk_that_failed_has_what_it_had_when_it_is_mended_and_nothing_when_it_is_a_new_one(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        disks = cluster.capability(DISKS)
        await cluster.kill(1)
        had = dict(disks.files(1))
        assert had
        disks.fail_disk(1)
        assert disks.files(1) == had
        disks.mend_disk(1)
        assert disks.files(1) == had
        disks.fail_disk(1)
        disks.wipe(1)
        assert disks.files(1) == {}
        disks.mend_disk(1)
        assert disks.files(1) == {}
        await cluster.restart(1)
        assert disks.files(1)

    on_backend(script)
