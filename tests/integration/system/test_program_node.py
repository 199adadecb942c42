"""One process of a program, without ZooKeeper."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pytest_kcontroller.cluster.program import program_of
from pytest_kcontroller.cluster.system.node import ProgramNode
from pytest_kcontroller.cluster.system.output import Output
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.runtime.real import RunStart


def test_how_it_is_started_by_hand_has_what_it_was_told_and_no_secret(tmp_path: Path) -> None:
    program = program_of(
        [sys.executable, "servce.py", "{id}"], env={"ZK": "{zk}", "TOKEN": "s3cret"}, directory=str(tmp_path)
    )
    output = Output(tmp_path, RunStart.now(), print)
    node = ProgramNode(0, program, {"zk": "127.1.1.250:99", "id": 0}, tmp_path, tmp_path / "w", lambda *_: None, output)
    said = str(node.start_error("it ended with status 2", 1.0))
    output.stop()
    assert (
        f"cd {tmp_path} && ZK=127.1.1.250:99 TOKEN=... {sys.executable} servce.py 0  # its ZooKeeper has ended" in said
    )
    assert (
        f"-> there is no 'servce.py' in {tmp_path}, where it is started: another place is named with `directory`"
        in said
    )


ENDS_IN_ITS_OWN_WAY = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("ready", flush=True)
signal.sigwait([signal.SIGINT])
if signal.sigtimedwait([signal.SIGTERM], 0.3) is None:
    print("it has saved what it had", flush=True)
"""


def test_at_the_end_it_gets_its_own_signal_and_no_other(tmp_path: Path) -> None:
    """By SIGTERM, which ends most programs at once, it could not save what it has."""
    program = program_of([sys.executable, "-c", ENDS_IN_ITS_OWN_WAY, "{zk}"], stop_signal="SIGINT")
    (tmp_path / "logs").mkdir()
    (tmp_path / "history").mkdir()
    ends: list[int] = []

    async def run() -> ProgramNode:
        output = Output(tmp_path / "history", RunStart.now(), print)
        work = tmp_path / "work"
        node = ProgramNode(0, program, {}, tmp_path, work, lambda _, status: ends.append(status), output)

        async def ready(_: int) -> str | None:
            return None if node.has_printed("ready") else "it has not begun"

        await node.launch()
        try:
            await node.wait_ready(ready)
        finally:
            await node.end(scaled(10))
            output.stop()
        return node

    assert asyncio.run(run()).has_printed("it has saved what it had")
    assert ends == [0]
