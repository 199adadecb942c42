"""The classes that a JVM has loaded are kept for the next one, and for no other kind of JVM."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_kcontroller.cluster.class_data import UNUSED_S, ClassData

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KCONTROLLER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "a.jar").write_bytes(b"a")
    return folder


def of(jars: Path, directory: Path) -> ClassData:
    return ClassData.of("server", jars / "java", f"{jars}/*", directory)


def test_the_first_jvm_writes_what_the_next_ones_map(jars: Path, tmp_path: Path) -> None:
    first = of(jars, tmp_path)
    assert first.options[-1] == f"-XX:ArchiveClassesAtExit={tmp_path}/server.jsa"
    assert first.writing_s > 0
    (tmp_path / "server.jsa").write_bytes(b"classes")
    first.keep()
    second = of(jars, tmp_path)
    assert second.options[-1] == f"-XX:SharedArchiveFile={second.kept}"
    assert second.writing_s == 0
    assert second.kept is not None
    assert second.kept.read_bytes() == b"classes"


def test_of_a_kind_that_takes_long_to_write_only_one_of_many_does(jars: Path, tmp_path: Path) -> None:
    made = [ClassData.of("large", jars / "java", f"{jars}/*", tmp_path, after=2) for _ in range(5)]
    assert [one.writing_s > 0 for one in made] == [False, False, True, False, False]
    assert made[0].options == ()
    made[0].keep()
    (tmp_path / "large.jsa").write_bytes(b"classes")
    made[2].keep()
    after = [ClassData.of("large", jars / "java", f"{jars}/*", tmp_path, after=2) for _ in range(4)]
    assert {one.options[-1] for one in after} == {f"-XX:SharedArchiveFile={made[2].kept}"}


def test_other_jars_have_classes_of_their_own(jars: Path, tmp_path: Path) -> None:
    before = of(jars, tmp_path).kept
    (jars / "b.jar").write_bytes(b"b")
    assert of(jars, tmp_path).kept != before


def test_a_jvm_that_wrote_nothing_leaves_nothing(cache: Path, jars: Path, tmp_path: Path) -> None:
    of(jars, tmp_path).keep()
    assert not cache.exists()


def test_classes_that_nobody_has_used_for_a_month_go(jars: Path, tmp_path: Path) -> None:
    (tmp_path / "server.jsa").write_bytes(b"classes")
    old = of(jars, tmp_path)
    old.keep()
    (jars / "b.jar").write_bytes(b"b")
    of(jars, tmp_path).keep()
    assert old.kept is not None
    assert old.kept.exists(), "used a moment ago"
    then = old.kept.stat().st_mtime - 2 * UNUSED_S
    os.utime(old.kept, (then, then))
    of(jars, tmp_path).keep()
    assert not old.kept.exists()


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(cache: Path, jars: Path, tmp_path: Path) -> None:
    cache.write_text("a file, no directory")
    (tmp_path / "server.jsa").write_bytes(b"classes")
    of(jars, tmp_path).keep()
    assert of(jars, tmp_path).writing_s > 0
    assert ClassData.of("large", jars / "java", f"{jars}/*", tmp_path, after=1).writing_s == 0


def test_nothing_is_kept_when_the_cache_is_switched_off(
    jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KCONTROLLER_CACHE", "")
    assert of(jars, tmp_path).options == ()
    assert of(jars, tmp_path).writing_s == 0
