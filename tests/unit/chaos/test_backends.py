"""The registry: what is asked of a backend before anything of it is imported or started."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kcontroller_chaos import backends
from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.play.runner import Options, check
from pytest_kcontroller.cluster.capabilities import CRASH_POINTS, HOLDS, OPTIONAL
from pytest_kcontroller.cluster.contained.room import chosen_here
from pytest_kcontroller.cluster.process.proxy_choice import BINARY, CHOICE, URL, Choice, chosen
from pytest_kcontroller.errors import NotOnThisBackend, UsageError

HEAD = '[campaign]\nname = "x"\nduration_s = 20\nseeds = "1"\n\n[cluster]\nnodes = 3\n\n'


def campaign(tmp_path: Path, text: str) -> Campaign:
    file = tmp_path / "x.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    return load_campaign(file)


def test_a_campaign_needs_what_its_faults_need(tmp_path: Path) -> None:
    kill, hold = '[[faults]]\nkind = "kill"\nat_s = 1\n', '[[faults]]\nkind = "hold"\nat_s = 1\n'
    assert campaign(tmp_path, kill).needs == ()
    assert campaign(tmp_path, kill + hold).needs == (HOLDS,)
    assert campaign(tmp_path, '[[faults]]\nkind = "kill"\nwhen = "write:2"\n').needs == (CRASH_POINTS,)
    drawn = '[generator]\nfaults = ["hold", "kill"]\nevery_s = [1, 2]\ncrash_points = 0.5\n'
    assert campaign(tmp_path, drawn).needs == (CRASH_POINTS, HOLDS)


def test_a_backend_that_lacks_something_says_who_has_it() -> None:
    bare = dataclasses.replace(backends.BACKENDS[0], name="bare", lacks=OPTIONAL)
    bare.check_has(())
    with pytest.raises(NotOnThisBackend) as refused:
        bare.check_has((HOLDS,), where="x.toml")
    assert str(refused.value) == (
        "x.toml: the backend bare has no hold points (a task of a node waits where it is told to)\n"
        f"  -> use the backend {' or '.join(each.name for each in backends.BACKENDS if HOLDS not in each.lacks)}"
    )


def test_the_first_backend_that_has_everything_is_taken(tmp_path: Path) -> None:
    kill = '[[faults]]\nkind = "kill"\n'
    assert backends.first_able(campaign(tmp_path, f"{kill}at_s = 1\n")).name == backends.DEFAULT
    assert CRASH_POINTS not in backends.first_able(campaign(tmp_path, f'{kill}when = "write:2"\n')).lacks
    assert backends.simulated().simulated
    program = '[system]\ncommand = "{python} -c pass {zk}"\n'
    assert all(each.programs and not each.containers for each in backends.able(campaign(tmp_path, program)))
    assert backends.first_able(campaign(tmp_path, f'{program}image = "serve:1"\n')).containers


@pytest.mark.parametrize(
    ("options", "place", "where"),
    [
        (Options(mutant="KAFKA-6082"), "", "--mutant"),
        (Options(mutant="KAFKA-6082"), "run/run.json", "run/run.json: `mutant`"),
        (Options(assignment="striped"), "", "--assignment"),
        (Options(selectors={"offline": "offline"}), "", "--selector"),
    ],
)
def test_programs_are_told_nothing_that_is_for_our_nodes(
    tmp_path: Path, options: Options, place: str, where: str
) -> None:
    """A run that passed over the mutant would say that it was found, or was not."""
    of_program = campaign(tmp_path, '[system]\ncommand = "{python} -c pass {zk}"\n')
    with pytest.raises(UsageError) as refused:
        check(of_program, options, place)
    assert str(refused.value) == (
        f"{where}: is for nodes of ours, and [system] has programs of yours\n  -> leave it out"
    )


@pytest.fixture
def no_proxies_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CHOICE, URL):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_proxies_named")
@pytest.mark.parametrize(
    ("variable", "said", "other"),
    [
        (CHOICE, "http://127.0.0.1:8474", "a server of others"),
        (URL, "http://127.0.0.1:8474", "a server of others"),
        (CHOICE, "path", "a program of this machine"),
    ],
)
def test_nodes_in_containers_have_no_proxies_outside_of_them(
    variable: str, said: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is said before an engine is looked for."""
    monkeypatch.setenv(variable, said)
    contained = next(each for each in backends.BACKENDS if each.containers)
    where = rf"\${variable}: the proxies of nodes in containers are in the containers' network, and not on {other}"
    with pytest.raises(NotOnThisBackend, match=where):
        contained.load().check(None)


@pytest.mark.usefixtures("no_proxies_named")
def test_nodes_in_containers_have_the_embedded_proxies_whatever_is_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = tmp_path / BINARY
    binary.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (chosen(), chosen_here()) == (Choice("path", str(binary)), Choice("embedded"))


def test_an_unknown_backend_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=f"there is no backend 'abacus'\n  -> one of {', '.join(backends.NAMES)}"):
        backends.backend("abacus")
