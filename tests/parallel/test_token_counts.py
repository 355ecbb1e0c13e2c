"""Tokens counted with a tokenizer made on the spot."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollprof.errors import InputProblem, MissingExtra
from rollprof.parallel import token_counts
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.token_counts import TokenCounter
from rollprof.sources.records import SniffedFile

from .rollout_tasks import Given, rows_of, task

tokenizers = pytest.importorskip("tokenizers")
AsFile = Callable[..., SniffedFile]


@pytest.fixture
def words(tmp_path: Path) -> str:
    """A tokenizer.json: one token per word, with truncation and a start token that must not count."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "<s>": 1, "word": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.enable_truncation(3)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return str(path)


def test_counts(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = [{"role": "user", "content": "one two"}, {"role": "assistant", "content": "three"}]
    passages = ["word " * 50, "", None, chat, "a\ud800 b", "word " * 50]
    assert TokenCounter(words).count(passages) == [50, 0, None, 3, 2, 50]
    monkeypatch.setattr(token_counts, "BATCH_CHARS", 3)
    assert TokenCounter(words).count(passages) == [50, 0, None, 3, 2, 50]


def test_conversion(as_file: AsFile, use_mapper: Callable[[Any], None], words: str) -> None:
    use_mapper(Given("step", "prompt", "response", "response_tokens"))
    data = [
        {"step": 1, "prompt": "a b", "response": "word " * 7},
        {"step": 1, "prompt": "a b", "response": "word " * 9, "response_tokens": 11},
        {"step": 1, "prompt": "a b c"},
    ]
    result = convert_chunk(task(as_file(data), tokenizer=words))
    rows = rows_of(result)
    assert [row["response_tokens"] for row in rows] == [7, 11, None]
    assert [row["token_basis"] for row in rows] == ["tokenized", "exact", None]
    assert [row["prompt_tokens"] for row in rows] == [2, 2, 3]
    assert (result.totals[1, "train"].tokens, result.totals[1, "train"].with_tokens) == (18, 2)


def test_what_is_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(InputProblem, match="no such tokenizer file"):
        TokenCounter(str(tmp_path / "gone.json"))
    path = tmp_path / "x.json"
    for text in ("{}", "not json", ""):
        path.write_text(text)
        with pytest.raises(InputProblem, match=r"is not a tokenizer\.json: ") as problem:
            TokenCounter(str(path))
        assert "\n" not in problem.value.message


def test_without_the_package(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "tokenizers":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra) as problem:
        TokenCounter(words)
    assert problem.value.hint == 'pip install "rollprof[tokens]"'
