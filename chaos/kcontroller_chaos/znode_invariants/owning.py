"""One owner by ZooKeeper's log, one believer by the program's own lines, and nobody else who writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kcontroller_chaos.checking import LIVENESS, SAFETY, Verdict, accepted
from kcontroller_chaos.history.read import Event, History
from kcontroller_chaos.znode_invariants.beliefs import Belief, beliefs, uncounted, who_leads
from kcontroller_chaos.znode_invariants.invariant import ZnodeInvariant, of_nodes, parameter, seconds, who
from kcontroller_chaos.znode_invariants.znodes import (
    DELETED,
    Life,
    Ownership,
    Pattern,
    end_us,
    has_ended,
    lives,
    lock_of,
    ownerships,
    txns,
)
from pytest_kcontroller.model.history import ProgramPrinted
from pytest_kcontroller.model.text import printable

LEADER_PATH = (
    "the znode that a session owns, as an ephemeral one; of a lock its directory, where the lowest number owns"
)
NOBODY = "nobody"


@dataclass(kw_only=True, eq=False)
class OneOwner(ZnodeInvariant):
    """At most one session owns the znode, by ZooKeeper's log: it is ephemeral, and nobody but its owner deletes it.

    Who is no node of the system may: a fault, or an administrator.
    """

    rule = "one-owner"
    kind = SAFETY
    expected = "an ephemeral znode that ends with its session, or by its owner's own hand"
    source = "ZooKeeper's transaction log: ephemeralOwner of the znode"
    path: str = parameter(..., LEADER_PATH)

    def check(self, history: History) -> Verdict:
        pattern, nodes = Pattern(self.path), of_nodes(history)
        queues, checks = {lock_of(life.path) for life in lives(history) if lock_of(life.path) != life.path}, 0
        for life in lives(history):
            if not pattern.owns(life.path) or (not life.ephemeral and life.path in queues):
                continue
            checks += 1
            if not life.ephemeral:
                seen = f"{who(life.session, nodes)} made {life.path} a persistent znode: no session owns it"
                return _violated(checks, seen, life.from_zxid, life, session=life.session)
            if (
                life.end == DELETED
                and life.ended_by != life.session
                and not (nodes is not None and life.ended_by not in nodes)
                and not (nodes is not None and nodes.get(life.session) == nodes[life.ended_by])
            ):
                seen = f"{who(life.ended_by, nodes)} deleted {life.path} of {who(life.session, nodes)}"
                return _violated(checks, seen, life.to_zxid, life, session=life.ended_by, owner=life.session)
        return Verdict.of(checks, f"nobody made {self.path}")


def _violated(checks: int, seen: str, zxid: int | None, life: Life, **more: Any) -> Verdict:
    at = hex(zxid or 0)
    return Verdict.violated(
        checks, seen=seen, where=f"zxid {at}, {life.path}", witness={"zxid": at, "path": life.path, **more}
    )


@dataclass(kw_only=True, eq=False)
class OneBeliever(ZnodeInvariant):
    """At most one believes to lead, by the program's own lines: no two at once or, with epochs, no two in one of them.

    That a process which stands still believes too long cannot be helped; that ZooKeeper refuses what it does then can, by an
    epoch. So two who believe with different epochs are no violation here: `only_owner_writes` is about them.
    """

    rule = "one-believer"
    kind = SAFETY
    expected = "no two that believe to lead at once with no epoch, or with the same one"
    source = "the program's own lines: program.said"
    path: str = parameter(..., LEADER_PATH)

    def check(self, history: History) -> Verdict:
        verdict = self._judged(history)
        return replace(verdict, seen="; ".join(filter(None, (verdict.seen, *uncounted(history, Pattern(self.path))))))

    def _judged(self, history: History) -> Verdict:
        found = beliefs(history, Pattern(self.path))
        fenced, standing, of_epoch = 0, list[Belief](), dict[tuple[str, int], Belief]()
        for second in found:
            standing = [one for one in standing if one.sure_us > second.from_us]
            at_once = [one for one in standing if one.lock == second.lock and one.node != second.node]
            same = None if second.epoch is None else of_epoch.setdefault((second.lock, second.epoch), second)
            bad = (
                [one for one in at_once if None in (one.epoch, second.epoch)] if second.sure_us > second.from_us else []
            )
            bad += [same] if same is not None and same.node != second.node else []
            if bad:
                return self._two(history, len(found), bad[0], second)
            fenced += any(None not in (one.epoch, second.epoch) for one in at_once)
            standing.append(second)
        printed = [f"; node {one['node']}: {printable(one['otherwise'])}" for one in history.of(ProgramPrinted)][:1]
        why = f"no program said who leads, in lines that are JSON objects{''.join(printed)}"
        verdict = Verdict.of(len(found), why)
        if not found and (others := sorted(who_leads(history, Pattern(self.path)))):
            return Verdict.of(0, f"no program said who leads {self.path}, but only {', '.join(others[:3])}")
        if not fenced:
            return verdict
        times = "once" if fenced == 1 else f"{fenced} times"
        return Verdict(verdict=verdict.verdict, checks=len(found), seen=f"{times} two at once, in different epochs")

    def _two(self, history: History, checks: int, first: Belief, second: Belief) -> Verdict:
        owned = ownerships(history, Pattern(self.path))
        nodes = of_nodes(history)
        owner = next((one for one in owned if one.lock == second.lock and _at(one, second.from_us)), None)
        lost = [one for one in owned if nodes and nodes.get(one.session) == first.node and one.to_us is not None]
        lost = [one for one in lost if one.lock == first.lock and first.from_us <= (one.to_us or 0)]
        epochs = "" if None in (first.epoch, second.epoch) else f" in epoch {first.epoch}"
        until = "the end" if first.to_us is None else seconds(first.to_us)
        seen = f"node {first.node} (from {seconds(first.from_us)} to {until}) and node {second.node}{epochs}; "
        seen += f"ZooKeeper's owner then is {NOBODY if owner is None else who(owner.session, nodes)}"
        witness: dict[str, Any] = {"node": second.node, "nodes": [first.node, second.node], "path": self.path}
        witness |= {"t_us": second.said_us, "lock": second.lock, "believed": [_said(first), _said(second)]}
        if owner is not None:
            witness |= {"zxid": hex(owner.from_zxid), "owner": owner.session, "owner_znode": owner.znode}
        if lost:
            witness["lost"] = {"session": lost[0].session, "zxid": hex(lost[0].to_zxid or 0), "how": lost[0].end}
        where = f"{seconds(second.from_us)} into the run, {second.lock}"
        return Verdict.violated(checks, seen=seen, where=where, witness=witness)


def owned_paths(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What the verdicts of `one_owner` are about, by their names."""
    begins = f"{OneOwner.rule}("
    return [str(one["name"])[len(begins) : -1] for one in entries if str(one["name"]).startswith(begins)]


def _at(owned: Ownership, t_us: int) -> bool:
    return owned.from_us <= t_us and (owned.to_us is None or t_us < owned.to_us)


def _said(belief: Belief) -> dict[str, Any]:
    epoch = {} if belief.epoch is None else {"epoch": belief.epoch}
    return {"node": belief.node, **epoch, "from_us": belief.from_us, "to_us": belief.to_us}


@dataclass(kw_only=True, eq=False)
class OnlyOwnerWrites(ZnodeInvariant):
    """Only the session that owns one znode writes others: creates, sets and deletes, as ZooKeeper has accepted them.

    Who is no node of the system may: a fault, or an administrator. Before the first owner ever, anybody may: that is how a
    system sets itself up. Of several such writes the one is shown that was made while another session owned.
    """

    rule = "only-owner-writes"
    kind = SAFETY
    expected = "every write is of the session that owns the leader's znode at that transaction"
    source = "ZooKeeper's transaction log: the session of each write, and the owner just then"
    path: str = parameter(..., LEADER_PATH)
    written_path: str = parameter(..., "what only the owner may write: /my/data/** is everything below")

    def check(self, history: History) -> Verdict:
        written, nodes = Pattern(self.written_path), of_nodes(history)
        owned, checks, found = ownerships(history, Pattern(self.path)), 0, list[Verdict]()
        first, nothing = min((one.from_zxid for one in owned), default=None), f"nobody wrote {self.written_path}"
        for txn, paths in _written(history, written):
            session, zxid = str(txn["session"]), int(txn["zxid"])
            if nodes is not None and session not in nodes:
                nothing = f"no node wrote {self.written_path}"
                continue
            if first is None or zxid < first:
                nothing = f"{self.written_path} was written only before anybody owned {self.path}"
                continue
            checks += 1
            # A transaction may win, or give up, what it writes under.
            then = [one for one in owned if one.from_zxid <= zxid and (one.to_zxid is None or zxid <= one.to_zxid)]
            if any(one.session == session for one in then):
                continue
            owner = then[-1].session if then else None
            said = NOBODY if owner is None else who(owner, nodes)
            if nodes is not None and owner is not None and nodes.get(owner) == nodes[session]:
                said = f"another session of it, {owner}"
            seen = f"{who(session, nodes)} wrote {paths[0]}, the owner was {said}"
            witness = {"zxid": hex(zxid), "session": session, "path": paths[0], "owner": owner}
            found.append(Verdict.violated(checks, seen=seen, where=f"zxid {zxid:#x}, {paths[0]}", witness=witness))
            if owner is not None:
                return found[-1]
        return found[0] if found else Verdict.of(checks, nothing)


def _written(history: History, pattern: Pattern) -> Iterator[tuple[Event, list[str]]]:
    for txn in txns(history):
        if paths := [op["path"] for op in accepted(txn) if pattern.matches(op["path"])]:
            yield txn, paths


@dataclass(kw_only=True, eq=False)
class OwnedAfterHealing(ZnodeInvariant):
    """In the end somebody owns the znode: the liveness beside `one_owner`."""

    rule = "owned-after-healing"
    kind = LIVENESS
    expected = "an owner at the end, after everything was healed"
    source = "ZooKeeper's transaction log"
    path: str = parameter(..., LEADER_PATH)

    def check(self, history: History) -> Verdict:
        return self._now(history) if has_ended(history) else Verdict.unknown("the run did not reach its end")

    def pending(self, history: History) -> bool:
        return self._now(history).verdict != "held"

    def _now(self, history: History) -> Verdict:
        last: dict[str, Ownership] = {one.lock: one for one in ownerships(history, Pattern(self.path))}
        for lock, one in last.items():
            if one.to_us is not None:
                nodes, at_us = of_nodes(history), one.to_us
                seen = f"{lock} is owned by {NOBODY} since {seconds(at_us)}, when {who(one.session, nodes)} lost it"
                witness = {"zxid": hex(one.to_zxid or 0), "session": one.session, "path": one.znode, "how": one.end}
                return Verdict.violated(len(last), seen=seen, where=seconds(end_us(history)), witness=witness)
        if not last:
            seen = f"{self.path} was never owned by anybody"
            return Verdict.violated(1, seen=seen, where="the end", witness={"path": self.path})
        return Verdict.of(len(last))
