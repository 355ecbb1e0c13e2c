"""Sifted lines are the lines that hold a mark, wherever the blocks of the reader end."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.sources import sifting, splitting
from rollprof.sources.sifting import Sieve

MARKS = (b"ab", b"c")


@given(data=st.text("abcx\n", max_size=80).map(str.encode), block=st.integers(1, 9))
def test_as_line_by_line(data: bytes, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (sifting, splitting):
            patch.setattr(module, "BLOCK", block)
            patch.setattr(module, "LONGEST", 12)
        every = list(splitting.physical_lines(io.BytesIO(data)))
        sieve = Sieve(io.BytesIO(data), MARKS)
        found = list(sieve.lines())
    wanted = [e for e in every if e[1] is None or any(m in e[1] for m in MARKS)]
    assert found == [tuple(e) for e in wanted]
    assert sieve.passed == len(every) - len(wanted)
