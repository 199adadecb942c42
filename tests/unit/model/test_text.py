"""Texts of others, as they are shown: nothing of them is obeyed, and nothing of them ends a program."""

from __future__ import annotations

import pytest

from pytest_kcontroller.model.text import in_words, printable, printable_lines, shown


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain ü", "plain ü"),
        ("\x1b[31m\x00", r"\x1b[31m\x00"),
        ("\ud800\u2028\ufffe", r"\ud800\u2028\ufffe"),
        ("\u202eabc", r"\u202eabc"),
        ("a\nb", r"a\x0ab"),
    ],
)
def test_what_is_no_text_is_shown_by_its_code(text: str, seen: str) -> None:
    assert printable(text) == seen


def test_an_endless_text_is_cut_and_says_so() -> None:
    assert printable("x" * 30, 10) == "xxxxxxxxxx… (20 more characters)"


def test_lines_of_ours_stay_lines() -> None:
    assert printable_lines("a\x1b\n  -> b\x00\n\tat x") == "a\\x1b\n  -> b\\x00\n    at x"


def test_an_object_is_shown_whatever_its_repr_does() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise KeyError("no")

    class Wrong:
        def __repr__(self) -> str:
            return 7  # type: ignore[return-value]

    assert shown(ValueError("a\x00")) == r"ValueError('a\x00')"
    assert shown(Mute()) == "<Mute whose repr raises KeyError>"
    assert shown(Wrong()) == "<Wrong whose repr raises TypeError>"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "nothing"),
        (True, "yes"),
        ([], "nothing"),
        ([1, [2, 3]], "1, [2, 3]"),
        ({"leader": 1, "isr": [1, 2], "why": None}, "leader 1, isr [1, 2], why nothing"),
    ],
)
def test_values_are_said_in_words(value: object, said: str) -> None:
    assert in_words(value) == said
