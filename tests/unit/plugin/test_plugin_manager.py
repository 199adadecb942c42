"""Plugins are found, checked and chosen by name; every mistake is one usage error that names it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.hookspecs import hookimpl
from pytest_kcontroller.model.election import ElectionReason
from pytest_kcontroller.plugin.manager import _environment_for, load_plugins, typed

Offer = Callable[..., str]


class Weighted:
    name = "weighted"

    def __init__(self, weight: float = 1.0) -> None:
        if weight < 0:
            raise ValueError("weight is below 0")
        self.weight = weight

    def select(self, partition: Any, reason: Any) -> None:
        return None


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Offer]:
    """Makes an importable module with one hook."""

    def make(name: str, value: Any, hook: str = "kcontroller_leader_selectors") -> str:
        module = types.ModuleType(name)

        def implementation() -> Any:
            if isinstance(value, Exception):
                raise value
            return value

        implementation.__name__ = hook
        setattr(module, hook, hookimpl(implementation))
        monkeypatch.setitem(sys.modules, name, module)
        return name

    yield make


def test_stock_plugins_are_there_through_the_public_hooks() -> None:
    plugins = load_plugins(installed=False)
    stock = ("controlled-shutdown", "noop", "offline", "preferred", "reassigned")
    assert tuple(name for name in plugins.selectors.names if "@" not in name) == stock
    assert plugins.assignments.names == ("rack-aware", "striped")
    assert plugins.selectors.plugin_of("offline") == "kcontroller_plugins.selectors.offline"
    assert plugins.mutants.names == ()


def test_a_mutant_comes_with_its_plugin_only() -> None:
    plugins = load_plugins(["kcontroller_chaos.mutants"], installed=False)
    mutant = plugins.mutant("KAFKA-6082")
    assert mutant is not None
    assert [seam for seam, _ in mutant.replacements] == ["store.fence"]
    assert plugins.mutant(None) is None
    with pytest.raises(UsageError, match="did you mean `KAFKA-6082`"):
        plugins.mutant("KAFKA-6028")


def test_only_what_kafka_does_can_be_chosen_as_such() -> None:
    plugins = load_plugins(("kcontroller_chaos.mutants",), installed=False)
    chosen = plugins.kafkas(["KAFKA-14424", "KAFKA-9478", "KAFKA-14424"])
    assert [mutant.name for mutant in chosen] == ["KAFKA-14424", "KAFKA-9478"]
    for name in ("KAFKA-1188", "KAFKA-14425"):
        with pytest.raises(UsageError, match=f"'{name}' is nothing that Kafka 3.9 does") as refused:
            plugins.kafkas([name], where="setting `kafka_compat`")
        assert "kafka_compat" in str(refused.value)


def test_every_reason_has_its_stock_selector() -> None:
    chosen = load_plugins(installed=False).selectors_for({})
    assert {reason: selector.name for reason, selector in chosen.items()} == {
        ElectionReason.OFFLINE: "offline",
        ElectionReason.REASSIGNED: "reassigned",
        ElectionReason.PREFERRED: "preferred",
        ElectionReason.CONTROLLED_SHUTDOWN: "controlled-shutdown",
    }


def test_options_reach_the_factory(offer: Offer) -> None:
    plugins = load_plugins([offer("weighty", [Weighted])], installed=False)
    chosen = plugins.selectors_for({"offline": {"name": "weighted", "weight": 0.3}})
    selector = chosen[ElectionReason.OFFLINE]
    assert isinstance(selector, Weighted)
    assert selector.weight == 0.3
    assert chosen[ElectionReason.PREFERRED].name == "preferred"


def test_a_ready_value_is_used_as_it_is(offer: Offer) -> None:
    ready = Weighted(2)
    plugins = load_plugins([offer("weighty", [ready])], installed=False)
    assert plugins.selectors.make("weighted") is ready
    with pytest.raises(UsageError, match="takes no options, not even weight"):
        plugins.selectors.make({"name": "weighted", "weight": 1})


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"offline": "oflfine"},
            r"selectors\.offline: there is no leader selector 'oflfine'\n.*did you mean `offline`",
        ),
        ({"ofline": "offline"}, "there is no election reason 'ofline'\n.*did you mean `offline`"),
        ({"offline": {"weight": 1}}, "neither a name nor a table with a name"),
        ({"offline": 7}, "7 is neither a name nor a table with a name"),
        (
            {"offline": {"name": "weighted", "wieght": 1}},
            "'weighted' of the plugin weighty refuses its options: .*wieght",
        ),
        ({"offline": {"name": "weighted", "weight": -1}}, "refuses its options: weight is below 0"),
    ],
)
def test_a_bad_choice_is_a_usage_error(offer: Offer, choices: dict[str, Any], message: str) -> None:
    plugins = load_plugins([offer("weighty", [Weighted])], installed=False)
    with pytest.raises(UsageError, match=message) as raised:
        plugins.selectors_for(choices)
    assert raised.value.exit_status == 2


def test_two_plugins_with_one_name_are_both_named(offer: Offer) -> None:
    modules = [offer("zeta", [Weighted]), offer("alpha", [Weighted])]
    for order in (modules, modules[::-1]):
        with pytest.raises(UsageError, match="leader selector 'weighted': alpha and zeta"):
            load_plugins(order, installed=False)


def test_a_plugin_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(UsageError, match="the plugin no_such_plugin cannot be imported"):
        load_plugins(["no_such_plugin"], installed=False)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "kct_divides",
            "def made():\n    return 1 / 0\n\n\nmade()\n",
            "{file}:2: the plugin kct_divides cannot be imported: ZeroDivisionError: division by zero\n  -> mend it",
        ),
        (
            "kct_no_json",
            "import json\njson.loads('{')\n",
            "{file}:2: the plugin kct_no_json cannot be imported: JSONDecodeError: ",
        ),
        ("kct_no_python", "\ndef x(:\n", "{file}:2: the plugin kct_no_python cannot be imported: SyntaxError: invalid"),
        (
            "kct_needs",
            "import kct_is_missing\n",
            "{file}:1: the plugin kct_needs cannot be imported: ModuleNotFoundError: No module named 'kct_is_missing'\n"
            "  -> mend it",
        ),
        (
            "kct_speechless",
            "class Bad(Exception):\n    def __str__(self):\n        return 1 / 0\n\n\nraise Bad\n",
            "{file}:6: the plugin kct_speechless cannot be imported: Bad: <Bad whose str raises ZeroDivisionError>",
        ),
    ],
)
def test_where_a_plugin_cannot_be_imported_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError) as refused:
        load_plugins([name], installed=False)
    assert str(refused.value).startswith(message.format(file=tmp_path / f"{name}.py"))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("kct_not_there", "it is imported by this name: install it, or put its folder on PYTHONPATH"),
        ("kct_not_there.inner", "it is imported by this name: install it, or put its folder on PYTHONPATH"),
        (
            "kct_not_there.py",
            "name the module, as in `import kct_not_there`, not its file, and put its folder on PYTHONPATH",
        ),
        (
            "./lib/kct_mine.py",
            "name the module, as in `import kct_mine`, not its file, and put its folder on PYTHONPATH",
        ),
        ("", "name it as in `import my_plugin`"),
    ],
)
def test_what_to_do_about_a_name_that_is_no_module(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match="cannot be imported") as refused:
        load_plugins([name], installed=False)
    assert refused.value.hint == hint


@pytest.mark.parametrize("file", ["kct_space/inner.py", "kct_space/__init__.py", "kct_space.py"])
def test_what_is_typed_says_where_a_plugin_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    _environment_for.cache_clear()
    assert typed(["kcontroller", "doctor"], ["kct_space.inner"]) == f"PYTHONPATH={tmp_path} kcontroller doctor"
    _environment_for.cache_clear()


def test_ctrl_c_while_a_plugin_is_imported_is_not_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kct_slow.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        load_plugins(["kct_slow"], installed=False)


def test_a_hook_that_does_not_exist_is_an_error(offer: Offer) -> None:
    with pytest.raises(UsageError, match="kcontroller_leader_selektors"):
        load_plugins([offer("typo", [], hook="kcontroller_leader_selektors")], installed=False)


def test_a_plugin_that_fails_is_named(offer: Offer) -> None:
    with pytest.raises(UsageError, match=r"the plugin broken failed in kcontroller_leader_selectors: .*boom"):
        load_plugins([offer("broken", RuntimeError("boom"))], installed=False)


def test_an_offer_needs_a_name(offer: Offer) -> None:
    with pytest.raises(UsageError, match="offers a leader selector without a name"):
        load_plugins([offer("nameless", [object()])], installed=False)
