"""The simulated disk: what it promises, and how it breaks that."""

from __future__ import annotations

import pytest

from pytest_kcontroller.runtime.rng import NamedRng
from pytest_kcontroller.runtime.scheduler import Scheduler, SimRuntime
from pytest_kcontroller.sim.disk import SimDisk

WRITES = [f"{number}" * 8 for number in range(6)]


def caching(seed: int) -> SimDisk:
    """A durable `old`, and WRITES in the cache, each to a file of its name's first character."""
    disk = SimDisk(NamedRng(seed), "node-1")
    disk.write("old", b"old")
    disk.cache()
    for text in WRITES:
        disk.write(text[0], text.encode())
    return disk


def test_what_was_written_is_read_also_after_a_kill() -> None:
    disk = SimDisk(NamedRng(1), "node-1")
    seen: list[bytes | None] = []

    async def main(runtime: SimRuntime) -> None:
        seen.append(runtime.disk.read("a/b"))
        runtime.disk.write("a/b", b"1" if seen[-1] is None else seen[-1] + b"2")

    with Scheduler() as world:
        for _ in range(3):
            loop = world.process("node-1")
            loop.create_task(main(SimRuntime(loop, 1, [], disk=disk)))
            world.run()
            world.kill(loop)
    assert seen == [None, b"1", b"12"]


def test_a_good_disk_loses_nothing_and_tears_nothing() -> None:
    disk = SimDisk(NamedRng(1), "node-1")
    disk.write("a", b"1")
    assert disk.unsynced == ()
    assert disk.lose_unsynced() == ()
    assert disk.tear() is None
    assert disk.read("a") == b"1"


def test_a_full_disk_takes_no_write_a_failed_one_gives_nothing_back_and_both_have_all_when_mended() -> None:
    disk = SimDisk(NamedRng(1), "node-1")
    disk.write("a", b"1")
    disk.fill()
    with pytest.raises(OSError, match="No space left on device: 'a'"):
        disk.write("a", b"2")
    assert disk.read("a") == b"1"
    disk.fail_directory("")
    for used in (lambda: disk.write("a", b"2"), lambda: disk.read("a")):
        with pytest.raises(OSError, match="Input/output error: 'a'"):
            used()
    disk.mend()
    assert disk.read("a") == b"1"
    disk.write("a", b"2")
    assert disk.read("a") == b"2"


def test_a_power_failure_takes_back_the_newest_write_to_any_file_that_shows_it() -> None:
    def after(seed: int, *, torn: bool) -> tuple[str | None, bytes | None, bytes | None]:
        disk = SimDisk(NamedRng(seed), "node-1")
        for name, data in (("a", b"1"), ("a", b"12"), ("b", b"long"), ("a", b"34"), ("b", b"long")):
            disk.write(name, data)
        return disk.take_back(torn=torn), disk.read("a"), disk.read("b")

    assert {after(seed, torn=False) for seed in range(20)} == {("a", b"1", b"long"), ("b", b"34", None)}
    torn = {after(seed, torn=True) for seed in range(60)}
    assert {a for name, a, b in torn if name == "a" and b == b"long"} == {b"", b"3"}
    assert {b for name, a, b in torn if name == "b" and a == b"34"} == {b"", b"l", b"lo", b"lon"}
    assert SimDisk(NamedRng(1), "node-1").take_back(torn=True) is None


def test_cached_writes_are_read_and_kept_by_sync() -> None:
    disk = caching(1)
    disk.write("0", b"newer")
    assert disk.unsynced == (*(text[0] for text in WRITES), "0")
    assert disk.read("0") == b"newer"
    disk.sync()
    disk.write("0", b"newest")
    assert disk.unsynced == ()
    assert disk.lose_unsynced() == ()
    assert [disk.read(name) for name in ("0", "1", "old")] == [b"newest", b"11111111", b"old"]


def test_a_power_failure_loses_the_newest_writes_and_never_a_synced_one() -> None:
    how_many: list[int] = []
    for seed in range(50):
        disk = caching(seed)
        lost = disk.lose_unsynced()
        how_many.append(len(lost))
        assert list(lost) == [text[0] for text in WRITES][-len(lost) :]
        there = [disk.read(text[0]) for text in WRITES]
        assert there == [text.encode() for text in WRITES][: -len(lost)] + [None] * len(lost)
        assert disk.read("old") == b"old"
        assert disk.unsynced == ()
    assert set(how_many) == {1, 2, 3, 4, 5, 6}


def test_losing_a_write_brings_the_older_content_back() -> None:
    disk = SimDisk(NamedRng(1), "node-1")
    disk.write("a", b"old")
    disk.cache()
    disk.write("a", b"new")
    assert disk.lose_unsynced() == ("a",)
    assert disk.read("a") == b"old"


def test_a_torn_write_is_the_beginning_of_the_newest() -> None:
    lengths: list[int] = []
    for seed in range(100):
        disk = caching(seed)
        assert disk.tear() == "5"
        torn = disk.read("5")
        assert torn is not None
        assert WRITES[5].encode().startswith(torn)
        lengths.append(len(torn))
        assert [disk.read(text[0]) for text in WRITES[:5]] == [text.encode() for text in WRITES[:5]]
        assert disk.unsynced == ()
    assert set(lengths) == set(range(8)), "never all of it"


def test_an_empty_write_is_torn_to_an_empty_file() -> None:
    disk = SimDisk(NamedRng(1), "node-1")
    disk.cache()
    disk.write("a", b"")
    assert disk.tear() == "a"
    assert disk.read("a") == b""


@pytest.mark.parametrize("fault", ["lose_unsynced", "tear"])
def test_faults_are_drawn_from_the_seed(fault: str) -> None:
    def contents(seed: int) -> list[bytes | None]:
        disk = caching(seed)
        getattr(disk, fault)()
        return [disk.read(text[0]) for text in WRITES]

    assert [contents(seed) for seed in range(20)] == [contents(seed) for seed in range(20)]
    assert len({str(contents(seed)) for seed in range(20)}) > 3
