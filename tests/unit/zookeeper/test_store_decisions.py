"""What Store decides without ZooKeeper: how writes are cut into chunks, what a znode that was read back means."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kcontroller.zookeeper.session import (
    BadVersionError,
    Create,
    Delete,
    NoChildrenForEphemeralsError,
    Node,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    SetData,
    Stat,
    UnexpectedZkError,
    WatchKind,
)
from pytest_kcontroller.zookeeper.store import (
    EachOp,
    Fence,
    FencedError,
    Stale,
    WriteResult,
    Written,
    _change,
    _chunks,
    _outcome,
    _own,
    _refusal,
    fenced,
)

STAT = Stat(czxid=5, mzxid=6, pzxid=5, ctime_ms=0, mtime_ms=0, version=3, cversion=0, ephemeral_owner=0, children=0)


def node(version: int, data: bytes) -> Node:
    return Node(data, replace(STAT, version=version))


@given(
    st.lists(st.tuples(st.sampled_from([Create, SetData, Delete]), st.integers(0, 300)), max_size=60),
    st.integers(1, 7),
    st.integers(1, 2000),
)
def test_chunks_keep_order_and_limits_and_are_no_smaller_than_needed(
    kinds: list[tuple[type, int]], max_ops: int, max_bytes: int
) -> None:
    ops: list[EachOp] = [
        Delete("/é", 0)
        if kind is Delete
        else Create("/é", b"x" * size)
        if kind is Create
        else SetData("/é", b"x" * size)
        for kind, size in kinds
    ]

    def weight(op: EachOp) -> int:
        return 3 + 100 + (0 if isinstance(op, Delete) else len(op.data))

    chunks = list(_chunks(ops, max_ops, max_bytes))
    assert [numbered for chunk in chunks for numbered in chunk] == list(enumerate(ops))
    for chunk in chunks:
        assert 1 <= len(chunk) <= max_ops
        assert len(chunk) == 1 or sum(weight(op) for _, op in chunk) <= max_bytes
    for chunk, after in itertools.pairwise(chunks):
        full = sum(weight(op) for _, op in chunk) + weight(after[0][1]) > max_bytes
        assert len(chunk) == max_ops or full


@pytest.mark.parametrize(
    ("op", "there", "outcome"),
    [
        (Create("/a", b"x"), None, None),
        (Create("/a", b"x"), node(0, b"x"), Written(0)),
        (Create("/a", b"x"), node(0, b"y"), Stale(node(0, b"y"))),
        (Create("/a", b"x"), node(1, b"x"), Stale(node(1, b"x"))),
        (SetData("/a", b"x", 3), None, Stale(None)),
        (SetData("/a", b"x", 3), node(3, b"o"), None),
        (SetData("/a", b"x", 3), node(4, b"x"), Written(4)),
        (SetData("/a", b"x", 3), node(4, b"y"), Stale(node(4, b"y"))),
        (SetData("/a", b"x", 3), node(5, b"x"), Stale(node(5, b"x"))),
        (SetData("/a", b"x", 3), node(2, b"x"), Stale(node(2, b"x"))),
        (SetData("/a", b"x"), node(9, b"x"), None),
        (Delete("/a", 3), None, Written(-1)),
        (Delete("/a", 3), node(3, b""), None),
        (Delete("/a", 3), node(4, b""), Stale(node(4, b""))),
        (Delete("/a"), node(4, b""), None),
    ],
)
def test_what_was_read_back_means(op: EachOp, there: Node | None, outcome: WriteResult | None) -> None:
    assert _outcome(op, there) == outcome


@pytest.mark.parametrize(
    ("op", "said", "refusal"),
    [
        (Create("/a/b"), NoNodeError(), Stale(None)),
        (Create("/a/b"), NoChildrenForEphemeralsError(), Stale(None)),
        (Create("/a/b"), NodeExistsError(), None),
        (Delete("/a"), NotEmptyError(), Stale(None)),
        (Delete("/a"), RolledBackError(), None),
        (SetData("/a", b"", 1), BadVersionError(), None),
        (SetData("/a", b"", 1), NoNodeError(), None),
        (SetData("/a", b"", 1), None, None),
    ],
)
def test_what_zookeeper_refuses_for_good_is_not_sent_for_ever(op: EachOp, said: object, refusal: Stale | None) -> None:
    assert _refusal(op, None, said) == refusal


def test_an_error_that_nobody_expects_is_raised() -> None:
    with pytest.raises(UnexpectedZkError):
        _refusal(Create("/a"), None, UnexpectedZkError(-114, "/a"))


def test_results_are_told_apart_by_what_was_sent() -> None:
    ops = (Create("/a"),)
    fence = Fence(4)
    assert _own((None, "made"), fenced(ops, fence), ops, fence) == ("made",)
    assert _own(("made",), ops, ops, fence) == ("made",)
    failed = BadVersionError("/a")
    assert _own((failed,), ops, ops, fence) == (failed,)
    assert _own((RolledBackError(), failed), fenced(ops, fence), ops, fence) == (failed,)
    with pytest.raises(FencedError):
        _own((BadVersionError("/controller_epoch"), RolledBackError()), fenced(ops, fence), ops, fence)


@pytest.mark.parametrize(
    ("before", "now", "children", "kind"),
    [
        (None, None, False, None),
        (None, STAT, False, WatchKind.CREATED),
        (STAT, None, False, WatchKind.DELETED),
        (STAT, None, True, WatchKind.DELETED),
        (STAT, STAT, False, None),
        (STAT, STAT, True, None),
        (STAT, replace(STAT, mzxid=9), False, WatchKind.CHANGED),
        (STAT, replace(STAT, mzxid=9), True, None),
        (STAT, replace(STAT, pzxid=9, cversion=1), True, WatchKind.CHILDREN),
        (STAT, replace(STAT, pzxid=9, cversion=1), False, None),
        (STAT, replace(STAT, czxid=9, mzxid=9, pzxid=9), False, WatchKind.CHANGED),
        (STAT, replace(STAT, czxid=9, mzxid=9, pzxid=9), True, WatchKind.CHILDREN),
    ],
)
def test_the_event_that_a_lost_watch_would_have_fired(
    before: Stat | None, now: Stat | None, children: bool, kind: WatchKind | None
) -> None:
    assert _change(before, now, children) == kind
