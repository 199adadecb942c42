"""Toxics by a clock of their own: a loop whose time jumps to the next timer, and `late` seconds past it."""

from __future__ import annotations

import asyncio
import random  # noqa: TID251 - what toxics are given
import selectors
from collections.abc import Coroutine, Iterable
from typing import Any

import pytest

from pytest_kcontroller.cluster.toxiproxy.pipes import Chunk, Pipe
from pytest_kcontroller.cluster.toxiproxy.toxics import (
    Bandwidth,
    Latency,
    LimitData,
    ResetPeer,
    Slicer,
    SlowClose,
    Stub,
    Timeout,
    Toxic,
)

MANY = 1_000_000


class Jumping(selectors.SelectSelector):
    """Waits for nothing: where a loop would, its time passes."""

    def __init__(self, late: float) -> None:
        super().__init__()
        self.now, self._late = 0.0, late

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "nothing will ever happen"
        if timeout > 0:
            self.now += timeout + self._late
        return []


class Recorder:
    """A sink that is never full: what came, and when."""

    def __init__(self) -> None:
        self.got: list[tuple[float, bytes | None]] = []

    async def put(self, chunk: Chunk | None) -> None:
        self.push(chunk)

    def push(self, chunk: Chunk | None) -> None:
        now = asyncio.get_running_loop().time()
        self.got.append((round(now, 6), None if chunk is None else chunk.data))


def played(work: Coroutine[Any, Any, None], late: float = 0.0) -> None:
    selector = Jumping(late)
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    loop._clock_resolution = 1e-9  # type: ignore[attr-defined]
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()


def passed(
    toxic: Toxic, chunks: Iterable[Chunk | None], *, late: float = 0.0, seed: int = 0
) -> list[tuple[float, bytes | None]]:
    """What comes out of one toxic, until it ends."""
    sink = Recorder()

    async def play() -> None:
        source = Pipe(MANY)
        for chunk in chunks:
            source.push(chunk)
        await toxic.run(Stub(source, sink, random.Random(seed)))

    played(play(), late)
    return sink.got


@pytest.mark.parametrize("rate", [1_000, 20_000, 100_000])
@pytest.mark.parametrize("late", [0.0, 0.001, 0.004])
def test_a_rate_makes_up_for_each_sleep_that_was_too_long(rate: int, late: float) -> None:
    size = 32 * 1024
    count = rate * 2000 // size
    got = passed(Bandwidth(rate), [Chunk(bytes(size), 0.0)] * count + [None], late=late)
    assert got[-1][0] == pytest.approx(count * size / (rate * 1000), abs=late + size / (rate * 1000))


def test_a_rate_is_no_burst_after_silence() -> None:
    times: list[float] = []

    async def play() -> None:
        source, sink = Pipe(MANY), Recorder()
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(Bandwidth(10).run(Stub(source, sink, random.Random(0))))
        for _ in range(2):
            await asyncio.sleep(5)
            for _ in range(2):
                source.push(Chunk(bytes(500), loop.time()))
        source.push(None)
        await task
        times.extend(at for at, _ in sink.got)

    played(play())
    assert times == [5.05, 5.1, 10.05, 10.1, 10.1]


def test_a_large_chunk_is_passed_in_steps_of_100_ms() -> None:
    got = passed(Bandwidth(1), [Chunk(bytes(250), 0.0), None])
    assert [(at, data and len(data)) for at, data in got] == [(0.1, 100), (0.2, 100), (0.25, 50), (0.25, None)]


def test_latency_counts_from_the_reading_and_jitter_stays_in_its_bounds() -> None:
    assert passed(Latency(300), [Chunk(b"a", 0.0), Chunk(b"b", 0.1), None]) == [(0.3, b"a"), (0.4, b"b"), (0.4, None)]
    delays = [passed(Latency(300, 100), [Chunk(b"a", 0.0), None], seed=seed)[0][0] for seed in range(50)]
    assert 0.2 <= min(delays) < 0.23 and 0.37 < max(delays) < 0.4
    for settings in ((-300, 0), (0, -5)):
        assert passed(Latency(*settings), [Chunk(b"a", 0.0), None]) == [(0.0, b"a"), (0.0, None)]


def test_the_delays_of_two_latencies_add_up_and_a_rate_before_one_does_not() -> None:
    sink = Recorder()

    async def play() -> None:
        pipes = [Pipe(MANY) for _ in range(4)]
        toxics = [Bandwidth(10), Latency(200), Latency(50)]
        stubs = [Stub(pipes[0], pipes[1], random.Random(0)), Stub(pipes[1], pipes[2], random.Random(0))]
        stubs.append(Stub(pipes[2], sink, random.Random(0)))
        pipes[0].push(Chunk(bytes(1000), 0.0))  # 0.1 s
        pipes[0].push(None)
        await asyncio.gather(*(toxic.run(stub) for toxic, stub in zip(toxics, stubs, strict=True)))

    played(play())
    assert [at for at, _ in sink.got] == [0.25, 0.25]


def test_a_timeout_begins_again_with_each_chunk() -> None:
    ended: list[float] = []

    async def play() -> None:
        source, sink = Pipe(MANY), Recorder()
        task = asyncio.ensure_future(Timeout(500).run(Stub(source, sink, random.Random(0))))
        for _ in range(5):
            await asyncio.sleep(0.4)
            source.push(Chunk(b"lost", 0.0))
        await task
        ended.extend(at for at, chunk in sink.got if chunk is None)
        assert len(sink.got) == 1

    played(play())
    assert ended == [2.5]


def test_ends_of_streams_come_when_they_should() -> None:
    data = [Chunk(b"abc", 0.0), Chunk(b"def", 0.0), None]
    assert passed(SlowClose(300), data)[-1] == (0.3, None)
    assert passed(ResetPeer(200), data) == [(0.2, None)]
    assert passed(LimitData(4), data) == [(0.0, b"abc"), (0.0, b"d"), (0.0, None)]
    assert passed(LimitData(3), data) == [(0.0, b"abc"), (0.0, None)]
    assert passed(LimitData(0), data) == [(0.0, None)]


@pytest.mark.parametrize(
    ("average", "variation"), [(1000, 1000), (64, 64), (100, 0), (0, 1), (5, -1), (10, 11), (999, 1000)]
)
def test_a_slicer_passes_all_bytes_in_parts_that_are_none_too_large_and_never_empty(
    average: int, variation: int
) -> None:
    data = random.Random(7).randbytes(5000)
    for seed in range(10):
        parts = [part for _, part in passed(Slicer(average, variation), [Chunk(data, 0.0), None], seed=seed)]
        assert parts.pop() is None
        assert b"".join(part for part in parts if part) == data
        assert all(part and len(part) <= average + variation for part in parts)


def test_a_slicer_waits_after_each_part() -> None:
    got = passed(Slicer(100, 0, 1000), [Chunk(bytes(400), 0.0), None])
    assert [at for at, _ in got] == [0.0, 0.001, 0.002, 0.003, 0.004]


@pytest.mark.parametrize(
    ("toxic", "given", "after_s", "out", "back"),
    [
        (Latency(1000), [b"a", b"b"], 0.5, [b"a"], [b"b"]),
        (Bandwidth(1), [bytes(250), b"b"], 0.15, [bytes(100)], [bytes(150), b"b"]),
        (Bandwidth(0), [b"a", b"b"], 0.5, [], [b"a", b"b"]),
        (Slicer(1, 0, 10_000), [b"abcd", b"e"], 0.015, [b"a", b"b"], [b"cd", b"e"]),
        (ResetPeer(1000), [b"a", b"b"], 0.5, [], [b"a", b"b"]),
        (SlowClose(1000), [b"a", None], 0.5, [b"a"], [None]),
        (Timeout(0), [b"a", b"b"], 0.5, [], []),
        (LimitData(3), [b"a", b"b"], 0.5, [b"a", b"b"], []),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Toxic) else "",
)
def test_what_an_interrupted_toxic_has_in_its_hands_goes_on_or_back(
    toxic: Toxic, given: list[bytes | None], after_s: float, out: list[bytes], back: list[bytes | None]
) -> None:
    sink, rest = Recorder(), Recorder()

    async def play() -> None:
        source = Pipe(MANY)
        for data in given:
            source.push(None if data is None else Chunk(data, 0.0))
        task = asyncio.ensure_future(toxic.run(Stub(source, sink, random.Random(0))))
        await asyncio.sleep(after_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        source.flush(rest)

    played(play())
    assert [data for _, data in sink.got] == out
    assert [data for _, data in rest.got] == back
