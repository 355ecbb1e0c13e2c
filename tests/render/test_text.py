"""Text from logs is data: whatever it holds, it cannot command the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.render.text import clean, to_ascii


@pytest.mark.parametrize(
    ("dirty", "text"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9cafter", "after"),
        ("\x1bP1$r\x1b\\after", "after"),
        ("\x1bcreset", "reset"),
        ("\x1b(Bset", "set"),
        ("cut \x1b", "cut "),
        ("cut \x1b[12;", "cut "),
        ("a\tb\r\nc", "a b c"),
        ("nul\x00bell\x07back\x08", "nulbellback"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("line\u2028sep", "line sep"),
        ("half \ud800", "half \ufffd"),
        ("[red]markup[/red]", "[red]markup[/red]"),
        ("漢字 é ∑", "漢字 é ∑"),
    ],
)
def test_clean(dirty: str, text: str) -> None:
    assert clean(dirty) == text


@given(st.text(st.characters(), max_size=80))
def test_nothing_harmful_is_left(dirty: str) -> None:
    text = clean(dirty)
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in text)
    assert not set(text) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    assert clean(text) == text


@given(st.text(st.sampled_from("\x1b\x9b[];0m\x07\\PX^_abc\x9c(B"), max_size=30))
def test_no_escape_survives_in_any_order(dirty: str) -> None:
    assert not set(clean(dirty)) & set("\x1b\x9b\x9d\x07\x9c")


def test_limit() -> None:
    assert clean("abcdef", 4) == "abc…"
    assert clean("abcd", 4) == "abcd"


@given(st.text(max_size=60))
def test_ascii_is_ascii(text: str) -> None:
    assert to_ascii(text).isascii()


def test_ascii_keeps_the_picture() -> None:
    assert to_ascii("█▏ ▁▄█ ░ 39–43 % · → ↑p99 cut…") == "#. _-# : 39-43 % | > ^p99 cut~"


@given(st.text(max_size=60))
def test_ascii_is_no_wider(text: str) -> None:
    assert len(to_ascii(text)) == len(text)
