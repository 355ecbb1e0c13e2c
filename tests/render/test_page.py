"""The page: wrapped in cells, cleaned, coloured only on demand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rollprof.render.summary.page import Page, joined, pad


def test_wraps_at_words_with_a_hanging_indent() -> None:
    page = Page(20)
    page.add("one two three four five six", indent=2, hang=4)
    assert page.text(color=False, unicode=True).split("\n") == ["  one two three four", "    five six", ""]


def test_numbers_stay_with_their_units() -> None:
    page = Page(20)
    page.add("it is about some 41 % of it and then 3 min 20 s")
    lines = page.text(color=False, unicode=True).split("\n")
    assert lines == ["it is about some", "41 % of it and then", "3 min 20 s", ""]


def test_markup_is_text_and_escapes_are_gone() -> None:
    page = Page(60)
    page.add(("[bold]x[/bold] :smile: \x1b[31mred", "bold"))
    assert page.text(color=False, unicode=True) == "[bold]x[/bold] :smile: red\n"


def test_colour_is_only_in_coloured_text() -> None:
    page = Page(40)
    page.add(("a", "bold"), ("b", "cyan"))
    assert page.text(color=False, unicode=True) == "ab\n"
    assert page.text(color=True, unicode=True) == "\x1b[1ma\x1b[0m\x1b[36mb\x1b[0m\n"


def test_basis_is_explained_once() -> None:
    page = Page(80)
    assert page.basis("logged") == "logged (the framework's own timers)"
    assert page.basis("logged") == "logged"
    assert page.basis(None) == ""


def test_words_of_tables_are_explained_below_unless_they_were() -> None:
    page = Page(80)
    page.basis("logged")
    page.legend(["modelled", "logged", None, "measured", "measured"])
    page.legend(["measured"])
    wanted = "measured: clocks in the log saw it · modelled: estimated from lengths alone\n"
    assert page.text(color=False, unicode=True) == wanted


def test_wide_characters_count_double() -> None:
    assert pad("漢字", 6) == "漢字  "
    assert cell_len(pad("漢字漢字", 5)) == 5
    assert pad("7", 3, right=True) == "  7"


def test_joined_leaves_out_what_is_empty() -> None:
    assert joined(["a b", "", "c"]).replace("\u00a0", " ") == "a b · c"


@given(st.text(max_size=200), st.integers(20, 90), st.integers(0, 6), st.integers(0, 6))
def test_nothing_is_wider_than_the_page_and_no_word_is_lost(
    text: str, width: int, indent: int, hang: int
) -> None:
    page = Page(width)
    page.add(text, indent=indent, hang=hang)
    page.row(text, indent=indent)
    lines = page.text(color=False, unicode=True).split("\n")
    assert all(cell_len(line) <= width for line in lines)
    whole = Page(10_000)
    whole.add(text)
    squeezed = "".join("".join(line.plain for line in whole.lines).split())
    wrapped = page.lines[:-1]
    assert "".join("".join(line.plain for line in wrapped).split()) == squeezed
