"""Prompts, responses and groups as numbers: what a dataset keeps of them instead of their text.

All ids are BLAKE2b with 8 bytes of digest, read as an unsigned little-endian integer. Text is hashed as
UTF-8 (lone surrogates as they would be encoded: "surrogatepass"); anything else, a chat above all, as
canonical JSON: sorted keys, no blanks, characters as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from types import NoneType
from typing import Any

TEXT_KEYS = ("content", "text", "value")
"""Where a message, or a part of one, keeps its text."""


def text_id(text: str) -> int:
    """The id of a text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def passage_id(passage: Any) -> int | None:
    """The id of a prompt: of its text, or of the canonical JSON of anything else. None for None, and for
    what is nested too deeply to be written out."""
    text = passage if isinstance(passage, str) else canonical(passage)
    return None if text is None or passage is None else text_id(text)


def passage_ids(passages: Sequence[Any]) -> list[int | None]:
    """`passage_id` of each; the same text is hashed once."""
    if set(map(type, passages)) == {str}:
        known = {text: text_id(text) for text in set(passages)}
        return [known[text] for text in passages]
    return [passage_id(passage) for passage in passages]


def group_ids(
    steps: Sequence[int | None], splits: Sequence[str], keys: Sequence[Any], prompts: Sequence[int | None]
) -> list[int | None]:
    """`group_id` of each; the rollouts of a group are hashed once."""
    if set(map(type, keys)) <= {NoneType} and len(set(splits)) == 1:
        return _of_prompts(steps, splits[0], prompts)
    rows = list(zip(steps, splits, keys, prompts, strict=True))
    # not for keys of several types: 1, 1.0 and True are the same key of a dict, and three groups
    if set(map(type, keys)) - {NoneType} in ({str}, {int}):
        known = {row: group_id(*row) for row in set(rows)}
        return [known[row] for row in rows]
    return [group_id(*row) for row in rows]


def _of_prompts(steps: Sequence[int | None], split: str, prompts: Sequence[int | None]) -> list[int | None]:
    """Groups that only their prompts tell apart, a run of rows of the same step at a time."""
    found: list[int | None] = []
    for step, run in groupby(steps):
        some = prompts[len(found) : len(found) + sum(1 for _ in run)]
        known = {prompt: group_id(step, split, None, prompt) for prompt in set(some)}
        found.extend(map(known.__getitem__, some))
    return found


def group_id(step: int | None, split: str, key: Any, prompt: int | None) -> int | None:
    """The id of the rollouts sampled together: from step, split, and the group's key or the prompt's id.

    `key` is whatever the log identifies a group by; None where it does not. None without either.
    """
    if key is not None:
        name = key if isinstance(key, str) else str(key) if type(key) is int else canonical(key)
        if name is not None:
            return text_id(f"{step} {split} group {name}")
    return None if prompt is None else text_id(f"{step} {split} prompt {prompt}")


def canonical(value: Any) -> str | None:
    """JSON that is the same for equal values; None for what is nested too deeply."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    except TypeError:  # keys of several types, which JSON never has
        return repr(value)
    except RecursionError:
        return None


def texts(passage: Any) -> Iterator[str]:
    """The pieces of text in a passage: itself, or the contents of a chat's messages, in order."""
    if isinstance(passage, str):
        yield passage
    elif isinstance(passage, list | tuple):
        for item in passage:
            yield from texts(item)
    elif isinstance(passage, dict):
        for key in TEXT_KEYS:
            if isinstance(passage.get(key), str | list):
                yield from texts(passage[key])
                return


def chars(passage: Any) -> int | None:
    """Characters (code points) of a text, or of the contents of a chat. None for None, and for what is
    nested too deeply."""
    if isinstance(passage, str):
        return len(passage)
    try:
        return None if passage is None else sum(map(len, texts(passage)))
    except RecursionError:
        return None


def all_chars(passages: Sequence[Any]) -> list[int | None]:
    """`chars` of each."""
    plain = set(map(type, passages)) == {str}
    return list(map(len, passages)) if plain else [chars(passage) for passage in passages]


def storable(text: str) -> str:
    """The text without lone surrogates, which neither Arrow nor a tokenizer takes."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not text.isascii() else text
