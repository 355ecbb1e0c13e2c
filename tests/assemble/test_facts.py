from __future__ import annotations

import pytest

from rollprof.adapters.base import Fact
from rollprof.assemble.facts import as_meta, parse_overrides, with_overrides
from rollprof.errors import UsageProblem


def test_the_users_word_comes_first() -> None:
    facts = {"gpus": Fact(8, "config", "trainer"), "model": Fact(None, "config", "?")}
    meta = as_meta(with_overrides(facts, parse_overrides({"gpus": "4"})))
    assert meta == {"gpus": {"value": 4, "origin": "user", "how": "--config gpus=4"}}


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "many", "2.5"])
def test_nonsense_is_refused(bad: str) -> None:
    with pytest.raises(UsageProblem, match="engines"):
        parse_overrides({"engines": bad})


def test_a_near_miss_is_named() -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_overrides({"max_num_seq": "32"})
    assert caught.value.hint == "did you mean max_num_seqs?"
