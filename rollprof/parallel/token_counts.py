"""Counting tokens with the model's own tokenizer.json (extra `tokens`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rollprof.errors import InputProblem, MissingExtra
from rollprof.parallel.digests import storable, texts

BATCH_CHARS = 4 << 20
"""Characters encoded at a time: encodings take far more memory than their text."""


class TokenCounter:
    """Counts tokens of passages. Raises MissingExtra without the package tokenizers and InputProblem for
    a file that it cannot load."""

    def __init__(self, path: str) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra.for_package("tokenizers", "tokens", "counting tokens") from error
        if not Path(path).is_file():
            raise InputProblem(f"{path}: no such tokenizer file", hint="give the path of a tokenizer.json")
        try:
            self._tokenizer: Any = Tokenizer.from_file(path)
        except Exception as error:  # tokenizers raises bare Exception
            raise InputProblem(
                f"{path} is not a tokenizer.json: {str(error)[:120]}", hint="give the model's tokenizer.json"
            ) from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._encode = getattr(self._tokenizer, "encode_batch_fast", self._tokenizer.encode_batch)

    def count(self, passages: Sequence[Any]) -> list[int | None]:
        """Tokens of each passage, special tokens not added; of a chat, of its messages' contents.

        None for None. A passage that comes several times is encoded once.
        """
        pieces = [_pieces(p) for p in passages]
        known: dict[str, int] = dict.fromkeys((t for ts in pieces if ts for t in ts), 0)
        waiting: list[str] = []
        size = 0
        for text in known:
            waiting.append(text)
            size += len(text)
            if size >= BATCH_CHARS:
                self._encode_into(known, waiting)
                waiting, size = [], 0
        self._encode_into(known, waiting)
        return [None if ts is None else sum(known[t] for t in ts) for ts in pieces]

    def _encode_into(self, known: dict[str, int], batch: list[str]) -> None:
        if batch:
            encoded = self._encode(batch, add_special_tokens=False)
            known.update((text, len(e)) for text, e in zip(batch, encoded, strict=True))


def _pieces(passage: Any) -> tuple[str, ...] | None:
    try:
        return None if passage is None else tuple(storable(text) for text in texts(passage))
    except RecursionError:
        return None
