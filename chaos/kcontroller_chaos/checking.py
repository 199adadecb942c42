"""What invariants have in common: the verdict, and ZooKeeper's writes with the epoch of the session that made them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kcontroller_chaos.history.read import Event, History
from pytest_kcontroller.zookeeper.znodes import CONTROLLER_EPOCH, TOPICS, parse_state_path

SAFETY, LIVENESS = "safety", "liveness"
NEVER_EXERCISED = "never exercised"
"""The verdict of an invariant that found nothing in the whole run that it is about."""
VERDICTS = ("held", "violated", "unknown", NEVER_EXERCISED)
WRITES = ("create", "create2", "set")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`verdict` is held, violated, unknown or never exercised; `checks` how many times there was something to check."""

    verdict: str
    checks: int = 0
    seen: str = ""
    where: str = ""
    witness: Mapping[str, Any] | None = None

    @classmethod
    def unknown(cls, why: str) -> Verdict:
        return cls(verdict="unknown", seen=why)

    @classmethod
    def of(cls, checks: int) -> Verdict:
        """Held, if there was anything to check; else never exercised."""
        return cls(verdict="held", checks=checks) if checks else cls(verdict=NEVER_EXERCISED, seen="nothing to check")

    @classmethod
    def violated(cls, checks: int, *, seen: str, where: str, witness: Mapping[str, Any]) -> Verdict:
        """`seen` instead of what is expected, `where` (a zxid, a file), and everything that proves it."""
        return cls(verdict="violated", checks=checks, seen=seen, where=where, witness=witness)

    def entry(self, name: str, kind: str, expected: str) -> dict[str, Any]:
        """What verdicts.json has of it (docs/formats.md)."""
        return {
            "name": name,
            "kind": kind,
            "verdict": self.verdict,
            "checks": self.checks,
            "expected": expected,
            "seen": self.seen,
            "where": self.where,
            "witness": self.witness,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One accepted write of a znode. `epoch` is the newest controller epoch then; `own` the one that the session was
    elected with last, or None."""

    zxid: int
    session: str
    type: str
    path: str
    data: Any
    epoch: int
    own: int | None

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.data)
        except (TypeError, ValueError):
            return None

    @property
    def where(self) -> str:
        return f"zxid {self.zxid:#x}, {self.path}"

    def witness(self, **more: Any) -> dict[str, Any]:
        return {"zxid": hex(self.zxid), "session": self.session, "path": self.path, **more}


@lru_cache(maxsize=1)  # every second invariant asks for those of the run that is judged
def writes(history: History) -> tuple[Write, ...]:
    """Accepted writes in zxid order. The write of /controller_epoch itself has the new epoch already."""
    return tuple(_writes(history))


def _writes(history: History) -> Iterator[Write]:
    epoch, elected = 0, dict[str, int]()
    for txn in history.txns:
        for op in accepted(txn):
            session = str(txn["session"])
            if op["path"] == CONTROLLER_EPOCH and op["type"] in WRITES and str(op["data"]).isdigit():
                epoch = int(op["data"])
                if epoch > 0:
                    elected[session] = epoch
            yield Write(
                zxid=int(txn["zxid"]),
                session=session,
                type=op["type"],
                path=op["path"],
                data=op["data"],
                epoch=epoch,
                own=elected.get(session),
            )


def accepted(txn: Event) -> list[Event]:
    """The operations that took effect: none, if one of them was refused."""
    ops = txn.get("ops", [])
    return [] if any(op["type"] == "error" for op in ops) else [op for op in ops if op["type"] != "check"]


def is_state(path: str) -> bool:
    return parse_state_path(path) is not None


def is_topic(path: str) -> bool:
    return path.startswith(f"{TOPICS}/") and path.count("/") == 3
