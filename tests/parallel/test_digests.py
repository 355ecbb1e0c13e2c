"""Ids that are the same in every run, file and step, worked out by hand."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

import pytest

from rollprof.parallel.digests import canonical, chars, group_id, passage_id, storable, text_id


def by_hand(data: bytes) -> int:
    digest = blake2b(data, digest_size=8).digest()
    return sum(byte << (8 * i) for i, byte in enumerate(digest))


def test_known_value() -> None:
    # blake2b-64 of b"abc", computed with `printf abc | b2sum -l 64`
    assert text_id("abc") == int.from_bytes(bytes.fromhex("d8bb14d833d59559"), "little")


def test_texts_and_chats() -> None:
    chat = [{"role": "user", "content": "Was ist 2²?"}]
    assert passage_id("é") == by_hand(b"\xc3\xa9")
    assert passage_id("a\ud800") == by_hand(b"a\xed\xa0\x80")
    assert passage_id(chat) == by_hand('[{"content":"Was ist 2²?","role":"user"}]'.encode())
    assert passage_id([{"content": "Was ist 2²?", "role": "user"}]) == passage_id(chat)
    assert passage_id(None) is None
    assert passage_id("") == by_hand(b"")
    assert len({passage_id(p) for p in ("", " ", [], {}, [""], "[]", 1, "1 ")}) == 7  # [] reads "[]"


def test_groups() -> None:
    ids = {
        group_id(1, "train", None, 7),
        group_id(2, "train", None, 7),
        group_id(1, "eval", None, 7),
        group_id(1, "train", None, 8),
        group_id(None, "train", None, 7),
        group_id(1, "train", "7", 7),
        group_id(1, "train", "a", None),
        group_id(1, "train", ["a"], None),
    }
    assert len(ids) == 8
    assert group_id(1, "train", "a", 7) == group_id(1, "train", "a", 8)
    assert group_id(1, "train", None, None) is None
    assert group_id(1, "train", 0, None) is not None


@pytest.mark.parametrize(
    ("passage", "length"),
    [
        ("", 0),
        ("abc", 3),
        ("因\ud800😀", 3),
        (None, None),
        ([], 0),
        ([{"role": "user", "content": "abc"}, {"role": "assistant", "content": "de"}], 5),
        ([{"role": "user", "content": [{"type": "text", "text": "abc"}, {"type": "image"}]}], 3),
        ([{"role": "assistant", "content": None, "tool_calls": [{}]}], 0),
        ([{"from": "human", "value": "abc"}], 3),
        ({"role": "user", "content": "abc"}, 3),
        (["abc", "d"], 4),
    ],
)
def test_lengths_in_characters(passage: object, length: int | None) -> None:
    assert chars(passage) == length


def test_odd_values_do_not_raise() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert canonical({"b": 1, "a": datetime(2026, 1, 1)}) == '{"a":"2026-01-01 00:00:00","b":1}'
    assert isinstance(passage_id({1: 2, "a": 3}), int)
    assert (passage_id(deep), chars(deep), group_id(1, "train", deep, None)) == (None, None, None)


def test_storable() -> None:
    assert storable("abc") == "abc"
    assert storable("a因\ud800") == "a因\ufffd\ufffd\ufffd"
    assert storable("\ud83d\ude00").encode()
