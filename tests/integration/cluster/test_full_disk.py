"""A disk that is full when a cluster ends: what is written then is lost, and nothing is left running."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from kcontroller_chaos.backends.process import new_run
from kcontroller_chaos.history.transactions import ZOOKEEPER
from pytest_kcontroller.cluster.observed import ClusterSettings
from pytest_kcontroller.cluster.zookeeper.embedded import EmbeddedZooKeeper


def test_a_log_that_cannot_be_exported_keeps_nothing_alive(tmp_path: Path) -> None:
    async def play() -> tuple[list[int | None], Path]:
        run = new_run(ClusterSettings(nodes=1), tmp_path)
        await run.open()
        (tmp_path / ZOOKEEPER).write_text("where the log goes: as little can be written there as on a full disk")
        (server,) = run.cluster.zookeeper.servers.values()
        assert isinstance(server, EmbeddedZooKeeper)
        pids, work = [server._pid, run.cluster.relays.pid], run.cluster._work
        with pytest.raises(OSError, match=ZOOKEEPER):
            await run.stop()
        run.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return pids, work

    pids, work = asyncio.run(play())
    assert all(pids)
    assert not any(psutil.pid_exists(pid) for pid in pids if pid is not None)
    assert not work.exists()
