"""What a node keeps, whichever backend it is on: a disk that has failed has it still, and a new one has nothing."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kcontroller.cluster.capabilities import DISKS, REPORTS
from pytest_kcontroller.cluster.contract import Cluster
from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from tests.integration.cluster.conftest import not_in_containers

pytestmark = not_in_containers([DISKS, REPORTS])  # a broker of Kafka's is under the same hands as our nodes


def test_a_disk_that_failed_has_what_it_had_when_it_is_mended_and_nothing_when_it_is_a_new_one(on_backend: Any) -> None:
    async def script(cluster: Cluster) -> None:
        disks = cluster.capability(DISKS)
        await cluster.kill(1)
        had = dict(disks.files(1))
        assert had
        (name,) = disks.log_dirs_of(1)
        disks.fail_log_dir(1, name)
        assert disks.log_dirs_of(1) == {}
        assert disks.files(1) == had
        disks.mend_log_dir(1, name)
        assert disks.files(1) == had
        disks.fail_log_dir(1, name)
        disks.wipe(1)
        assert disks.files(1) == {}
        disks.mend_log_dir(1, name)
        assert disks.files(1) == {}
        await cluster.restart(1)
        assert disks.files(1)

    on_backend(script)


@pytest.mark.parametrize(
    ("log_dirs", "name", "said"),
    [
        (2, "log-dir-2", "node 1 has no log directory 'log-dir-2'; there are: log-dir-0, log-dir-1"),
        (
            1,
            "log-dir-0",
            "node 1 has one log directory, which is its disk\n  -> name it '', or start the cluster with more",
        ),
    ],
    ids=["of-several", "of-one"],
)
def test_a_log_directory_that_is_not_there_is_named(on_backend: Any, log_dirs: int, name: str, said: str) -> None:
    async def script(cluster: Cluster) -> None:
        disks = cluster.capability(DISKS)
        for ask in (disks.fail_log_dir, disks.mend_log_dir):
            with pytest.raises(UsageError) as refused:
                ask(1, name)
            assert str(refused.value).startswith(said)
        if log_dirs > 1:
            disks.fail_log_dir(1, "log-dir-0")
            with pytest.raises(EnvironmentFailure, match="log-dir-0 of node 1 has failed already"):
                disks.fail_log_dir(1, "log-dir-0")
            disks.mend_log_dir(1, "log-dir-0")
        assert len(disks.log_dirs_of(1)) == log_dirs

    on_backend(script, log_dirs=log_dirs)
