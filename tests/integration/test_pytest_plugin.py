"""The plugin as a stranger's project sees it: each test runs pytest in a process of its own."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("kazoo", "kafka", "docker", "pyspark", "aiohttp", "toxiproxy", "requests", "kcontroller_chaos", "asyncio")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in list(os.environ):
        if name.startswith("PYTEST_XDIST"):
            monkeypatch.delenv(name)


# --- an unrelated project --------------------------------------------------------------------------------------------


def test_an_unrelated_project_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys

        def test_light():
            assert [name for name in {HEAVY!r} if name in sys.modules] == []
        """
    )
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:pytester")
    ran.assert_outcomes(passed=1)


def test_options_markers_and_fixtures_are_listed(pytester: pytest.Pytester) -> None:
    helped = pytester.runpytest_subprocess("--help").stdout.str()
    for option in (
        "backend",
        "keep",
        "timeout-scale",
        "seed",
        "plugin",
        "unknown",
        "zookeeper",
        "zookeeper-image",
        "require",
    ):
        assert f"--kc-{option}=" in helped
    for ini in ("kc_campaigns", "kc_plugins", "kc_timeout_scale"):
        assert ini in helped
    assert "@pytest.mark.kcontroller(nodes=3" in pytester.runpytest_subprocess("--markers").stdout.str()
    fixtures = pytester.runpytest_subprocess("--fixtures").stdout.str()
    for fixture in ("kc_settings", "zookeeper", "zk", "toxiproxy", "kcluster", "kcluster_module", "chaos", "khistory"):
        assert f"\n{fixture}" in fixtures


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--kc-backend=docker", "--kc-backend: 'docker': must be one of process, sim"),
        ("--kc-timeout-scale=0", "--kc-timeout-scale: '0': must be a number above 0"),
        ("--kc-seed=x", "--kc-seed: 'x': invalid literal"),
        ("--kc-zookeeper=there", "--kc-zookeeper: 'there': must be `embedded`, `container` or HOST:PORT"),
        ("--kc-require=jaba", "--kc-require: 'jaba': must be one of java, toxiproxy, docker"),
    ],
)
def test_a_bad_option_is_a_usage_error_in_one_line(pytester: pytest.Pytester, option: str, message: str) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    ran = pytester.runpytest_subprocess(option)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"ERROR: {message.replace('[', '[[]')}*"])
    assert "Traceback" not in ran.stderr.str()


def test_options_win_over_ini_keys_and_those_over_the_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import os

        def test_it(kc_settings):
            print("SEEN", kc_settings.timeout_scale, os.environ["KC_TIMEOUT_SCALE"], kc_settings.plugins)
        """
    )
    monkeypatch.setenv("KC_TIMEOUT_SCALE", "2")
    pytester.runpytest_subprocess("-s").stdout.fnmatch_lines(["*SEEN 2.0 2* ()*"])
    pytester.makeini("[pytest]\nkc_timeout_scale = 3\nkc_plugins =\n  mine.one\n")
    pytester.runpytest_subprocess("-s").stdout.fnmatch_lines(["*SEEN 3.0 3.0 ('mine.one',)*"])
    ran = pytester.runpytest_subprocess("-s", "--kc-timeout-scale=4", "--kc-plugin=mine.two")
    ran.stdout.fnmatch_lines(["*SEEN 4.0 4.0 ('mine.one', 'mine.two')*"])


# --- campaign files ---------------------------------------------------------------------------------------------------


def project(pytester: pytest.Pytester, campaign: str = "smoke") -> None:
    """A project with tests/, chaos/campaigns/ and testpaths that names only tests/."""
    pytester.makeini("[pytest]\nkc_campaigns = chaos/campaigns/*.toml\ntestpaths = tests\n")
    folder = pytester.mkdir("chaos") / "campaigns"
    folder.mkdir()
    (folder / "smoke.toml").write_text((ROOT / "chaos/campaigns" / f"{campaign}.toml").read_text())
    tests = pytester.mkdir("tests")
    (tests / "test_plain.py").write_text("def test_plain(): pass\n")


def collected(pytester: pytest.Pytester, *arguments: str) -> list[str]:
    ran = pytester.runpytest_subprocess("--collect-only", "-q", *arguments)
    assert ran.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), ran.stdout.str() + ran.stderr.str()
    return [line for line in ran.outlines if "::" in line]


def test_campaigns_are_collected_although_testpaths_names_another_folder(pytester: pytest.Pytester) -> None:
    project(pytester)
    items = collected(pytester)
    assert items[0] == "tests/test_plain.py::test_plain"
    assert items[1] == "chaos/campaigns/smoke.toml::seed-1"
    assert len(items) == len(set(items)) > 2
    assert collected(pytester, "-k", "seed-2") == ["chaos/campaigns/smoke.toml::seed-2"]
    assert collected(pytester, "-m", "chaos") == items[1:]
    assert collected(pytester, "--kc-seed=77") == [items[0], "chaos/campaigns/smoke.toml::seed-77"]


def test_without_testpaths_they_are_collected_once(pytester: pytest.Pytester) -> None:
    project(pytester)
    pytester.makeini("[pytest]\nkc_campaigns = chaos/campaigns/*.toml\n")
    items = collected(pytester)
    assert "chaos/campaigns/smoke.toml::seed-1" in items
    assert len(items) == len(set(items))


def test_a_campaign_with_crash_points_is_only_for_simulated_time(pytester: pytest.Pytester) -> None:
    project(pytester, "explore")
    ran = pytester.runpytest_subprocess("--collect-only", "-q", "--kc-seed=1")
    ran.stdout.fnmatch_lines(["*1 test is deselected, not for --kc-backend=process (*crash points)*"])
    assert "smoke.toml" not in ran.stdout.str()
    items = collected(pytester, "--kc-seed=1", "--kc-backend=sim")
    assert items == ["tests/test_plain.py::test_plain", "chaos/campaigns/smoke.toml::seed-1"]


def test_an_absolute_glob_of_campaigns_is_said(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkc_campaigns = /campaigns/*.toml\n")
    ran = pytester.runpytest_subprocess()
    ran.stderr.fnmatch_lines(["*kc_campaigns: /campaigns/?.toml is absolute; write it as seen from *"])
    assert "Traceback" not in ran.stderr.str()


def test_with_paths_on_the_command_line_only_a_campaign_file_itself_is_collected(pytester: pytest.Pytester) -> None:
    project(pytester)
    assert collected(pytester, "tests") == ["tests/test_plain.py::test_plain"]
    assert collected(pytester, "chaos") == []
    assert collected(pytester, ".") == ["tests/test_plain.py::test_plain"]
    assert collected(pytester, "chaos/campaigns/smoke.toml::seed-2") == ["chaos/campaigns/smoke.toml::seed-2"]
    assert "chaos/campaigns/smoke.toml::seed-1" in collected(pytester, "chaos/campaigns/smoke.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [("[campaign\n", "*smoke.toml*"), ('[campaign]\nname = "x"\nduratoin_s = 3\n', "*duratoin_s*")],
)
def test_a_broken_campaign_is_one_clean_message_and_nothing_runs(
    pytester: pytest.Pytester, text: str, message: str
) -> None:
    project(pytester)
    (pytester.path / "chaos/campaigns/smoke.toml").write_text(text)
    ran = pytester.runpytest_subprocess()
    assert ran.ret == pytest.ExitCode.INTERRUPTED
    ran.stdout.fnmatch_lines(["*ERROR collecting chaos/campaigns/smoke.toml*", message])
    ran.assert_outcomes(errors=1)
    assert "Traceback" not in ran.stdout.str()


def test_a_glob_that_matches_nothing_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkc_campaigns = chaos/*.tmol\n")
    ran = pytester.runpytest_subprocess()
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["ERROR: kc_campaigns: no file matches*"])
    assert pytester.runpytest_subprocess("--help").ret == 0


# --- verdicts ---------------------------------------------------------------------------------------------------------

ANSWERS = """
import sys
from pytest_kcontroller import campaign_items

def command(self):
    (self.out / "run").mkdir()
    (self.out / "run" / "verdicts.json").write_text({verdicts!r})
    return [sys.executable, "-c", "import sys; print('what it said'); sys.exit({status})"]

campaign_items.CampaignItem._command = command
"""
VIOLATED = (
    '{"overall": "violated", "invariants": [{"name": "epochs-grow", "verdict": "violated", "expected": "more than 3",'
    ' "seen": "2", "where": "zxid 0x5", "witness": {"path": "/controller_epoch"}}]}'
)

KNOWN = '{"overall": "violated", "expected": ["epochs-grow: ISSUE-1"]}'


@pytest.mark.parametrize(
    ("status", "options", "outcome", "lines"),
    [
        (0, (), {"passed": 1}, []),
        (0, ("-rx",), {"xfailed": 1}, ["XFAIL *seed-2 - epochs-grow: ISSUE-1*"]),
        (1, (), {"failed": 1}, ["*violated: epochs-grow*", "*expected: more than 3*", "*witness: *controller_epoch*"]),
        (4, (), {"failed": 1}, ["*the verdict is unknown*"]),
        (4, ("--kc-unknown=warn",), {"passed": 1, "warnings": 1}, ["*UnknownVerdictWarning*"]),
        (6, (), {"errors": 1}, ["*the run ended with status 6*", "*what it said*"]),
        (3, (), {"errors": 1}, ["*the run ended with status 3*"]),
    ],
)
def test_a_verdict_becomes_an_outcome(
    pytester: pytest.Pytester, status: int, options: tuple[str, ...], outcome: dict[str, int], lines: list[str]
) -> None:
    """The command alone is replaced, by one that ends with the status: the statuses are its contract."""
    project(pytester)
    verdicts = VIOLATED if status == 1 else KNOWN if "xfailed" in outcome else "{}"
    pytester.makeconftest(ANSWERS.format(status=status, verdicts=verdicts))
    ran = pytester.runpytest_subprocess("-k", "seed-2", "-p", "no:randomly", *options)
    ran.assert_outcomes(deselected=len(collected(pytester)) - 1, **outcome)
    ran.stdout.fnmatch_lines(lines)
    if "failed" in outcome or "errors" in outcome:
        ran.stdout.fnmatch_lines(["*again: kcontroller campaign run *smoke.toml --seeds 2*"])
        assert "Traceback" not in ran.stdout.str()
    assert (pytester.path / "runs").exists() == (status != 0), "a run that held leaves nothing in the project"


def test_items_obey_the_backend(pytester: pytest.Pytester) -> None:
    """A real run: simulated, it takes no time."""
    project(pytester)
    ran = pytester.runpytest_subprocess("--kc-backend=sim", "--kc-keep=always", "-k", "seed-2")
    ran.assert_outcomes(passed=1, deselected=len(collected(pytester)) - 1)
    (told,) = pytester.path.glob("runs/*/smoke-seed-2/**/run.json")
    assert json.loads(told.read_text())["backend"] == "sim"


def test_items_run_under_xdist_and_are_in_junit_xml(pytester: pytest.Pytester) -> None:
    project(pytester)
    pytester.makeconftest(ANSWERS.format(status=0, verdicts="{}"))
    ran = pytester.runpytest_subprocess("-n", "2", "--junitxml=out.xml")
    ran.assert_outcomes(passed=len(collected(pytester)))
    assert 'name="seed-2"' in (pytester.path / "out.xml").read_text()


def test_a_typo_in_the_marker_is_one_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.kcontroller(nodez=3)
        def test_it(kcluster):
            pass
        """
    )
    ran = pytester.runpytest_subprocess()
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["*the marker kcontroller has no argument 'nodez'*", "*did you mean 'nodes'?*"])
    assert "fixtures.py" not in ran.stdout.str()


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("5", "test_it.py:4: test_it: @pytest.mark.kcontroller(5): *\n*write @pytest.mark.kcontroller(nodes=5)"),
        ("{}, nodes=3", "test_it.py:4: test_it: @pytest.mark.kcontroller({}, nodes=3): *\n*name it: nodes, *"),
        ("backends='sim'", "test_it.py:4: test_it: * backends='sim': must be a list *\n*-> write backends=*"),
        ("backends=[[]]", "test_it.py:4: test_it: * backends=*: must be a list *\n*-> write backends=*"),
        ("nodes='3'", "test_it.py:4: test_it: the marker kcontroller nodes='3'\n*must be a whole number, 1 or more"),
        ("nodes=0", "test_it.py:4: test_it: the marker kcontroller nodes=0\n*must be a whole number, 1 or more"),
        ("config=7", "test_it.py:4: test_it: the marker kcontroller config=7\n*must be a dict*"),
        (
            "config={'unclean.leader.election': True}",
            "test_it.py:4: test_it: the marker kcontroller config: nodes do not know *"
            "did you mean 'unclean.leader.election.enable'*",
        ),
    ],
)
def test_a_wrong_marker_names_the_test_and_what_to_write(pytester: pytest.Pytester, marker: str, message: str) -> None:
    pytester.makepyfile(
        test_it=f"""
        import pytest


        @pytest.mark.kcontroller({marker})
        def test_it(kcluster):
            pass
        """
    )
    ran = pytester.runpytest_subprocess("--kc-backend=sim")
    assert ran.ret != 0
    said = ran.stdout.str() + ran.stderr.str()
    assert fnmatch(said, f"*{message.replace('[', '[[]')}*")
    assert "Traceback" not in said and "fixtures.py" not in said


# --- a ZooKeeper that never answers --------------------------------------------------------------------------------------

MUTE_JAVA = """\
#!/bin/sh
echo $$ "$@" >> {log}
[ "$1" = -version ] || exec sleep 1000
"""


def test_a_server_that_never_started_is_not_waited_for_by_each_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    java, log = pytester.path / "java", pytester.path / "calls"
    java.write_text(MUTE_JAVA.format(log=log))
    java.chmod(0o755)
    monkeypatch.setenv("KCONTROLLER_JAVA", str(java))
    pytester.makepyfile(
        """
        def test_1(zk): pass
        def test_2(zk): pass
        def test_3(kcluster): pass
        """
    )
    ran = pytester.runpytest_subprocess("--kc-timeout-scale=0.02", "-p", "no:randomly")
    ran.assert_outcomes(errors=3)
    again = "tried before in this run, for *::test_1, and not tried again: *zookeeper.log: ZooKeeper did not start*"
    ran.stdout.fnmatch_lines(["*zookeeper.log: ZooKeeper did not start*", again, again])
    assert "fixtures.py" not in ran.stdout.str()
    assert len([line for line in log.read_text().splitlines() if "QuorumPeerMain" in line]) == 1


def test_a_server_of_somebody_else_that_never_answered_is_asked_once(
    pytester: pytest.Pytester, silent: socket.socket
) -> None:
    host, port = silent.getsockname()
    pytester.makepyfile("def test_1(zk): pass\ndef test_2(zookeeper): pass\n")
    ran = pytester.runpytest_subprocess(f"--kc-zookeeper={host}:{port}", "--kc-timeout-scale=0.02", "-p", "no:randomly")
    ran.assert_outcomes(errors=2)
    ran.stdout.fnmatch_lines(
        [
            f"{host}:{port}: no ZooKeeper session within*",
            f"tried before in this run, for *::test_1, *: {host}:{port}: no *",
        ]
    )


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Accepts connections, as the backlog does, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


# --- what a test's cluster and its faults leave ------------------------------------------------------------------------


def test_a_module_may_share_one_cluster(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.kcontroller(nodes=2)

        def test_one(kcluster_module):
            kcluster_module.create_topic("orders")

        def test_two(kcluster_module, khistory, chaos):
            with chaos.fault("session_expiry", mode="server"):
                assert kcluster_module.nodes == (0, 1)
            assert [event["action"] for event in khistory.of("test.action")] == ["create_topic"]
            assert len(khistory) == len(list(khistory)) > 10

        def test_three(kcluster_module):
            assert kcluster_module.controller == -1
        """
    )
    ran = pytester.runpytest_subprocess("--kc-backend=sim", "-p", "no:randomly")
    ran.assert_outcomes(passed=2, failed=1)
    ran.stdout.fnmatch_lines(["*the test: create_topic orders*", "pytest *::test_three --kc-backend=sim"])
    kept = [line.partition("logs: ")[2] for line in ran.outlines if line.startswith("histories and logs: ")]
    assert sorted(path.name for path in (Path(kept[0]) / "history").iterdir())[0] == "engine.jsonl"


def test_a_fault_is_healed_at_the_end_and_one_without_effect_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def afterwards(kcluster, khistory):
            yield
            print("HEALED", len(khistory.of("fault.healed")), kcluster.controller)

        def test_forgotten(afterwards, chaos):
            chaos.inject("pause", target="others")

        def test_nothing_happens(afterwards, chaos):
            chaos.inject("hold", target="controller")
        """
    )
    ran = pytester.runpytest_subprocess("--kc-backend=sim", "-p", "no:randomly", "-s")
    ran.assert_outcomes(passed=2, errors=1)
    ran.stdout.fnmatch_lines(
        ["*HEALED 1 *", "*HEALED 1 *", "the fault hold-1 was not observed: no evidence within 5 s"]
    )
