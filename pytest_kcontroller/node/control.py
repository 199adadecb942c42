"""The control socket of a node: a Unix socket, one JSON object a line each way. For harnesses, not for clients.

    {"cmd": "status"}               {"ok": true, "node": 0, "active": true, "epoch": 3, ...}   see NodeReport
    {"cmd": "catch-up"}             as status, after a round trip to ZooKeeper: watches that came meanwhile are pending
    {"cmd": "hold", "point": P}     {"ok": true}
    {"cmd": "release", "point": P}  {"ok": true}
    {"cmd": "lose", "point": P, "count": 1}   {"ok": true}: so many answers at P are lost
    {"cmd": "close-session"}        {"ok": true}: it is being closed, and another one opened
    {"cmd": "jump", "by_ms": 3600000}   {"ok": true}: so much later it is, for this node
    {"cmd": "metadata"}             {"ok": true, "metadata": {...}}
    {"cmd": "metrics"}              {"ok": true, "metrics": {...}}: what its controller counts, by Kafka's names
    {"cmd": "link", "node": "3", "plane": "control", "address": "HOST:PORT"}   {"ok": true}: a node that joins is there
    anything else                   {"ok": false, "error": "..."}

It works whatever state ZooKeeper and the network are in, since it needs neither.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.model.cluster import Address
from pytest_kcontroller.runtime.holds import Holds, UnknownHoldPointError
from pytest_kcontroller.runtime.timeouts import within

CATCH_UP = "catch-up"
LONGEST_LINE = 64 * 1024 * 1024
LONGEST_PATH = 100
"""A Unix socket's path must fit into 108 bytes on Linux, 104 elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """What a node says of itself. Session id and password are in hexadecimal; the session is "0x0" when there is none.
    `pending` is what its controller has yet to do: events, and requests that are not answered. `waiting` are the hold points
    at which a task waits, `armed` those at which one would, or an answer would be lost.
    """

    node: int
    active: bool
    epoch: int
    phase: str
    pending: int
    session: str
    password: str
    session_state: str
    session_timeout_ms: int
    address: str
    broker_epoch: int
    waiting: tuple[str, ...]
    armed: tuple[str, ...]
    leads: int
    wall_ms: int

    def to_json(self) -> dict[str, object]:
        record: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        return record | {"waiting": list(self.waiting), "armed": list(self.armed)}


class Reporting(Protocol):
    """What the socket needs of a node."""

    def report(self) -> NodeReport: ...
    async def caught_up(self) -> NodeReport: ...
    def metadata(self) -> dict[str, object]: ...
    def close_session(self) -> None: ...
    def jump(self, by_ms: int) -> None: ...
    def metrics(self) -> dict[str, object]: ...
    def add_link(self, broker: int, plane: str, address: Address) -> None: ...


class ControlError(EnvironmentFailure):
    """A node's control socket refused a command, or gave no answer in time."""


class ControlServer:
    """`async with ControlServer(path, node, holds):` listens while the block runs."""

    def __init__(self, path: Path, node: Reporting, holds: Holds) -> None:
        self._path = path
        self._node = node
        self._commands: Mapping[str, Callable[[Mapping[str, Any]], dict[str, object]]] = {
            "status": lambda _: node.report().to_json(),
            "metadata": lambda _: {"metadata": node.metadata()},
            "metrics": lambda _: {"metrics": node.metrics()},
            "hold": self._hold,
            "release": self._release,
            "lose": self._lose,
            "jump": self._jump,
            "link": self._link,
            "close-session": self._close_session,
        }
        self._holds = holds
        self._server: asyncio.Server | None = None
        self._clients: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> ControlServer:
        if len(str(self._path).encode()) > LONGEST_PATH:
            raise UsageError(
                f"the control socket's path has more than {LONGEST_PATH} bytes",
                where=str(self._path),
                hint="shorten it",
            )
        self._path.unlink(missing_ok=True)  # a killed node left it
        try:
            self._server = await asyncio.start_unix_server(self._serve, self._path, limit=LONGEST_LINE)
        except OSError as bad:
            raise UsageError(f"no control socket can be made: {bad}", where=str(self._path)) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._clients):
            writer.close()
        self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.append(writer)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line), separators=(",", ":")).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError):  # gone, or a line without an end
            return
        finally:
            self._clients.remove(writer)
            writer.close()

    def _hold(self, command: Mapping[str, Any]) -> dict[str, object]:
        self._holds.arm(_point(command))
        return {}

    def _release(self, command: Mapping[str, Any]) -> dict[str, object]:
        self._holds.release(_point(command))
        return {}

    def _lose(self, command: Mapping[str, Any]) -> dict[str, object]:
        """Raises ValueError."""
        self._holds.lose(_point(command), int(str(command.get("count", 1))))
        return {}

    def _close_session(self, _: Mapping[str, Any]) -> dict[str, object]:
        self._node.close_session()
        return {}

    def _jump(self, command: Mapping[str, Any]) -> dict[str, object]:
        """Raises ValueError."""
        self._node.jump(int(str(command.get("by_ms"))))
        return {}

    def _link(self, command: Mapping[str, Any]) -> dict[str, object]:
        """Raises ValueError."""
        address = Address.parse(str(command.get("address")))
        self._node.add_link(int(str(command.get("node"))), str(command.get("plane")), address)
        return {}

    async def _answer(self, line: bytes) -> dict[str, object]:
        try:
            command = json.loads(line)
            name = str(command.get("cmd")) if isinstance(command, dict) else ""
            if name == CATCH_UP:
                return {"ok": True, **(await self._node.caught_up()).to_json()}
            if (handle := self._commands.get(name)) is None:
                return {"ok": False, "error": f"the commands are: {', '.join([*self._commands, CATCH_UP])}"}
            return {"ok": True, **handle(command)}
        except (ValueError, UnknownHoldPointError) as bad:
            return {"ok": False, "error": str(bad)}


class ControlClient:
    """Talks to one node's control socket; a connection per command, so that a restarted node needs no care.

    `timeout_s` is in seconds, already scaled. Every method raises ControlError.
    """

    def __init__(self, path: Path | str, *, timeout_s: float = 2.0) -> None:
        self._path, self._timeout_s = Path(path), timeout_s

    async def status(self) -> dict[str, Any]:
        """The fields of NodeReport, and "ok"."""
        return await self.send({"cmd": "status"})

    async def metadata(self) -> dict[str, Any]:
        """What UpdateMetadata said; equal on two nodes if and only if they were told the same."""
        answer = await self.send({"cmd": "metadata"})
        metadata: dict[str, Any] = answer["metadata"]
        return metadata

    async def hold(self, point: str) -> None:
        """The next task that reaches `point` waits there."""
        await self.send({"cmd": "hold", "point": point})

    async def release(self, point: str) -> None:
        await self.send({"cmd": "release", "point": point})

    async def send(self, command: Mapping[str, object]) -> dict[str, Any]:
        """Sends one command and returns its answer, whose "ok" is true."""
        name = str(command.get("cmd"))
        try:
            async with within(self._timeout_s):
                line = await self._exchange(json.dumps(command).encode() + b"\n")
            answer: dict[str, Any] = json.loads(line)
        except TimeoutError:
            raise ControlError(f"no answer to {name!r} in {self._timeout_s:g} s", where=str(self._path)) from None
        except (OSError, ValueError) as bad:
            raise ControlError(f"no answer to {name!r}: {bad}", where=str(self._path)) from None
        if not answer.get("ok"):
            raise ControlError(f"{name!r} was refused: {answer.get('error')}", where=str(self._path))
        return answer

    async def _exchange(self, line: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self._path, limit=LONGEST_LINE)
        try:
            writer.write(line)
            await writer.drain()
            if not (answer := await reader.readline()):
                raise ConnectionError("the node closed the connection")
            return answer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def _point(command: Mapping[str, Any]) -> str:
    point = command.get("point")
    if not isinstance(point, str):
        raise ValueError(f"{command.get('cmd')} needs a point")
    return point
