"""Faults and invariants of plugins: offered by name, checked when they are loaded, never trusted afterwards."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcontroller_chaos import invariants
from kcontroller_chaos.campaign import published
from kcontroller_chaos.campaign.file import load_campaign
from kcontroller_chaos.campaign.schedule import Schedule, draw
from kcontroller_chaos.catalogue import load_catalogue
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import named
from kcontroller_chaos.judge.verdict import verdicts
from kcontroller_chaos.play.runner import Options, check
from pytest_kcontroller.cli import main
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import UsageError

SMOKE = Path(__file__).parents[3] / "chaos/campaigns/smoke.toml"
Write = Callable[[str], str]

FAULTS = """
from dataclasses import dataclass
from kcontroller_chaos.faults import Fault, parameter
from pytest_kcontroller.hookspecs import hookimpl

@dataclass(frozen=True, kw_only=True)
class Flood(Fault):
    \"\"\"Water everywhere.\"\"\"

    kind = "flood"
    mode = "slow"
    depth_m: float = parameter(1.5, "how deep", unit="m", least=0.1, most=10)
    where: str = parameter("cellar", "which room", choices=("cellar", "roof"))

    async def inject(self, on):
        pass

    async def observe(self, on):
        return {}

@dataclass(frozen=True, kw_only=True)
class Flash(Flood):
    \"\"\"all at once\"\"\"

    mode = "flash"
    drops: int = parameter(7, "how many", least=1)

@hookimpl
def kcontroller_faults():
    return [Flood, Flash]
"""

INVARIANTS = """
from kcontroller_chaos.checking import SAFETY, Verdict
from kcontroller_chaos.invariants import Invariant
from pytest_kcontroller.hookspecs import hookimpl

class Dry(Invariant):
    \"\"\"Nobody gets wet.\"\"\"

    name = "dry"
    kind = SAFETY
    expected = "no water"
    source = "common sense"

    def check(self, history):
        return Verdict.of(len(history.events))

@hookimpl
def kcontroller_invariants():
    return [Dry]
"""

CAMPAIGN = '[campaign]\nname = "x"\nduration_s = 9\n'
FLOOD = f'{CAMPAIGN}[[faults]]\nkind = "flood"\nat_s = 1\n'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Makes a plugin module; each has a name of its own, as imported modules stay."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(text: str) -> str:
        name = f"kct_{abs(hash((str(tmp_path), text))):x}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return make


@pytest.fixture
def loaded(write: Write, tmp_path: Path) -> Callable[[str], Any]:
    """A campaign file, checked with the plugin of floods."""

    def load(text: str) -> Any:
        (tmp_path / "c.toml").write_text(text)
        return load_campaign(tmp_path / "c.toml", load_catalogue([write(FAULTS)]))

    return load


def test_the_fault_of_a_file_is_the_one_that_is_injected(loaded: Callable[[str], Any]) -> None:
    campaign = loaded(f'{FLOOD}mode = "flash"\ndepth_m = 3\n')
    (action,) = draw(campaign, 1).actions
    assert action.does is campaign.faults[0].fault
    assert (type(action.does).__name__, action.kind, action.mode) == ("Flash", "flood", "flash")
    assert action.parameters == {"depth_m": 3.0, "where": "cellar", "drops": 7}
    assert isinstance(action.does.depth_m, float)


def test_the_first_mode_that_is_offered_is_the_default(loaded: Callable[[str], Any]) -> None:
    assert loaded(FLOOD).faults[0].fault.mode == "slow"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("depth_m = 99", "c.toml:7: `faults.depth_m`: 99 is no number up to 10 m\n  -> how deep"),
        ("depth_m = 0", "0 is less than 0.1 m"),
        ("depth_m = 'deep'", "'deep' is not a number"),
        ("where = 'roofs'", "'roofs' is not known\n  -> did you mean `roof`?"),
        ("drops = 3", "a fault of the kind flood has no key `drops`"),
        ("dept_m = 3", "did you mean `depth_m`?"),
        ("mode = 'flush'", "flood has no mode 'flush'\n  -> did you mean `flash`?"),
    ],
)
def test_what_it_cannot_be_is_refused_with_file_line_and_key(
    loaded: Callable[[str], Any], line: str, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        loaded(f"{FLOOD}{line}\n")
    assert message in str(raised.value)


def test_a_kind_that_nobody_offers_may_be_a_plugins(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(FLOOD)
    with pytest.raises(UsageError, match=r"c.toml:5: `faults.kind`: 'flood' is not known\n.*is a --plugin missing\?"):
        load_campaign(tmp_path / "c.toml")


def test_a_schedule_is_read_back_as_the_same_faults(loaded: Callable[[str], Any], tmp_path: Path) -> None:
    campaign = loaded(f'{CAMPAIGN}[generator]\nfaults = ["flood", "flood:flash", "kill"]\nheal_before_end_s = 1\n')
    schedule = draw(campaign, 3)
    assert {action.kind for action in schedule.actions} == {"flood", "kill"}
    schedule.save(tmp_path / "s")
    assert Schedule.load(tmp_path / "s", campaign) == schedule
    without = load_campaign(SMOKE)
    with pytest.raises(UsageError, match="there is no fault 'flood'"):
        Schedule.load(tmp_path / "s", without)


def test_it_stands_in_the_schema_in_catalogues_and_behind_noop_fault(
    loaded: Callable[[str], Any], write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = loaded(FLOOD)
    check(campaign, Options(noop_fault="flood:slow", backend="sim"))
    keys = published.json_schema(campaign.catalogue)["properties"]["faults"]["items"]["properties"]
    assert "flood" in keys["kind"]["enum"]
    assert keys["depth_m"] == {
        "description": "of flood: how deep (m)", "type": "number", "minimum": 0.1, "maximum": 10, "default": 1.5,
    }  # fmt: skip
    assert main(["faults", "flood", "--plugin", write(FAULTS)]) == 0
    said = capsys.readouterr().out
    assert "Water everywhere." in said
    assert re.search(r"mode flash +all at once", said)
    assert main(["invariants", "dry", "--plugin", write(INVARIANTS)]) == 0
    assert "Nobody gets wet." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[Flood, Flash]", "[Fault]", "Fault has no `kind`"),
        ("[Flood, Flash]", "[Flood()]", "is no class below kcontroller_chaos.faults.Fault"),
        ("[Flood, Flash]", "[Flood, Flood]", "offers 'flood' twice"),
        ("[Flood, Flash]", "None", "failed in kcontroller_faults"),
        ("[Flood, Flash]", "[1 / 0]", "failed in kcontroller_faults: ZeroDivisionError"),
        ('kind = "flood"', 'kind = "Flood!"', "has no `kind` of small letters"),
        ('kind = "flood"', 'kind = "kill"', "two plugins offer the fault 'kill'"),
        ('kind = "flood"', 'kind = "flood"\n    claims = ("boat",)', "claims ('boat',): a tuple of"),
        ("@dataclass(frozen=True, kw_only=True)\nclass Flood", "class Flood", "is not decorated with @dataclass"),
        ("    async def inject(self, on):\n        pass\n", "", "has no method `inject`"),
        ("async def observe", "def observe", "has a method `observe` that is no `async def`"),
        (
            "observe(self, on)",
            "observe(self)",
            "has a method `observe` with a wrong signature: write `observe(self, on)`",
        ),
        ("depth_m: float", "depth_m: list", "the type of depth_m is <class 'list'>, not str, int, float or bool"),
        ("depth_m: float", "target: float", "has a parameter `target`, which every fault has"),
        ("parameter(1.5,", "parameter(99.0,", "the default of depth_m: 99.0 is no number up to 10 m"),
    ],
)
def test_a_fault_that_cannot_be_used_is_a_sentence_with_its_plugin(
    write: Write, old: str, new: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in FAULTS
    name = write(FAULTS.replace(old, new))
    with pytest.raises(UsageError) as raised:
        load_catalogue([name])
    assert problem in str(raised.value)
    assert name in str(raised.value)
    for command in (["faults"], ["campaign", "plan", str(SMOKE)], ["plugins", "list"]):
        assert main([*command, "--plugin", name]) == 2
        said = capsys.readouterr()
        assert name in said.err + said.out


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[Dry]", "[Invariant]", "has no `name`"),
        ("[Dry]", "[Dry()]", "is no class below kcontroller_chaos.invariants.Invariant"),
        ("[Dry]", "[Dry, Dry]", "two plugins offer the invariant 'dry'"),
        ('source = "common sense"', "", "has no `source`"),
        ("kind = SAFETY", 'kind = "maybe"', "has the kind 'maybe': safety or liveness"),
        ("def check(self, history)", "def check(self)", "its `check` does not take (self, history)"),
        ("def check(self, history)", "def chek(self, history)", "has no method `check`"),
        ('name = "dry"', 'name = "leader-in-isr"', "two plugins offer the invariant 'leader-in-isr'"),
    ],
)
def test_an_invariant_that_cannot_be_used_is_a_sentence_with_its_plugin(
    write: Write, old: str, new: str, problem: str
) -> None:
    assert old in INVARIANTS
    name = write(INVARIANTS.replace(old, new))
    with pytest.raises(UsageError) as raised:
        load_catalogue([name])
    assert problem in str(raised.value)
    assert name in str(raised.value)


@pytest.mark.parametrize("command", ["faults", "invariants", "selectors", "assignments", "mutants", "campaign plan"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def broken(:\n", "cannot be imported: SyntaxError"),
        (FAULTS.replace("@hookimpl\n", ""), "kcontroller_faults is not marked with @hookimpl"),
        (FAULTS.replace("def kcontroller_faults", "def kcontroller_fault"), "there is no hook kcontroller_fault"),
        ("", "it implements no hook"),
    ],
)
def test_a_module_that_is_no_plugin_is_said_alike_by_every_command(
    write: Write, command: str, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = write(text)
    words = [*command.split(), *([str(SMOKE)] if "campaign" in command else [])]
    assert main([*words, "--plugin", name]) == 2
    said = capsys.readouterr().err
    assert f"the plugin {name}" in said
    assert problem in said


@pytest.mark.parametrize(("ends", "verdict"), [(True, "held"), (False, "violated")])
def test_a_fault_of_a_plugin_may_end_a_process_if_it_says_so(ends: bool, verdict: str) -> None:
    asked = {"kind": "fault.asked", "fault_kind": "flood", "mode": None, "node": 1, "nodes": [1], "ends_process": ends}
    exited = {"kind": "process.exited", "node": 1, "status": 7}
    tree = {"kind": "zk.tree", "brokers": []}
    events = [{"writer": "engine", "seq": n, "t_us": n, **event} for n, event in enumerate((asked, exited, tree))]
    assert named("nodes-stay-up").check(History(tuple(events))).verdict == verdict


EVENT = {"writer": "engine", "seq": 0, "t_us": 0, "kind": "run.ended"}


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("return None", "Dry.check gave None, no Verdict"),
        ("return 1 / 0", "Dry.check raised ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "Dry.check raised SystemExit: 3"),
        ("return Verdict(verdict='perhaps')", "Dry.check gave the verdict 'perhaps'"),
        ("return Verdict.violated(1, seen='x', where='y', witness={'a': object()})", "cannot be written as JSON"),
        ("return Verdict.violated(1, seen='x', where='y', witness={'a': float('nan')})", "cannot be written as JSON"),
        ("return Verdict.of(len(history.events) > 0)", "Dry.check gave `checks` = True, which is no number of checks"),
        ("return Verdict.of(2**63)", "which is no number of checks"),
        ("return Verdict.violated(1, seen=None, where='y', witness={})", "gave `seen` = None, which is no text"),
        (
            "return Verdict.violated(1, seen='x', where='y', witness='zxid 5')",
            "the witness 'zxid 5', which has no names",
        ),
        ("return Verdict.violated(1, seen='x', where='y', witness={'t_us': 1.5})", "a witness with `t_us` = 1.5"),
        (
            "return Verdict.violated(1, seen='x', where='y', witness={'t_us': -(2**63)})",
            "a witness with `t_us` = -9223372",
        ),
        ("return Verdict.violated(1, seen='x', where='y', witness={'zxid': 'abc'})", "a witness with `zxid` = 'abc'"),
        (
            "return Verdict.violated(1, seen='x', where='y', witness={'believed': [1]})",
            "a witness with `believed` = [1]",
        ),
    ],
)
def test_an_invariant_that_fails_is_unknown_and_hides_nothing(write: Write, answer: str, seen: str) -> None:
    known = load_catalogue([write(INVARIANTS.replace("return Verdict.of(len(history.events))", answer))])
    found = {entry["name"]: entry for entry in verdicts(History((EVENT,)), None, known.invariants)["invariants"]}
    assert found["dry"]["verdict"] == "unknown"
    assert seen in found["dry"]["seen"]
    assert len(found) == len(known.invariants) > 10


def test_an_invariant_that_never_answers_is_unknown_and_hides_nothing(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "CHECK_S", 0.1)
    known = load_catalogue([write(INVARIANTS.replace("return Verdict.of(len(history.events))", "while True: pass"))])
    found = {entry["name"]: entry for entry in verdicts(History((EVENT,)), None, known.invariants)["invariants"]}
    assert found["dry"]["verdict"] == "unknown"
    assert f"Dry.check: it gave no answer within {scaled(0.1):g} s, and stood at " in found["dry"]["seen"]
    assert len(found) == len(known.invariants) > 10
