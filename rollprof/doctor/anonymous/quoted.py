"""JSON, in whatever state a killed run left it, with its strings replaced where they stand.

The text is walked, not parsed: half lines, NaN, several objects on a line and odd blanks stay what they are,
because they are what a bug report is about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from rollprof.doctor.anonymous.masking import Masks
from rollprof.doctor.anonymous.vocabulary import TOKEN_KEYS, holds_data, holds_text, is_harmless, is_key

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z))
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<mark>[{}\[\]:,])
    |(?P<other>[^\s"{}\[\]:,A-Za-z_0-9-]+|-)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = frozenset({"true", "false", "null", "NaN", "Infinity", "nan", "inf", "None", "True", "False"})
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|.)|\\$", re.DOTALL)
FEW_NUMBERS = 8
"""A list under a key of tokens with fewer whole numbers may be anything; a longer one is a text in ids."""


def mask_json(text: str, masks: Masks) -> str:
    """`text` with every string replaced that is not known to be harmless, keys left where they are keys."""
    tokens = list(_TOKEN.finditer(text))
    ids = _id_lists(tokens)
    out: list[str] = []
    end = 0
    keys = [""]
    for at, token in enumerate(tokens):
        out.append(text[end : token.start()])
        end = token.end()
        said = token.group()
        kind = token.lastgroup
        if kind == "mark":
            _follow(said, keys)
            out.append(said)
        elif kind == "string":
            is_name = at + 1 < len(tokens) and tokens[at + 1].group() == ":"
            if is_name:
                keys[-1] = _decoded(said)
            out.append(_string(said, "" if is_name else keys[-1], masks, is_name))
        elif kind == "number":
            hide = at in ids or holds_data(keys[-1])
            out.append(masks.number(said) if hide else said)
        elif kind == "word":
            out.append(said if said in _WORDS else masks.text(said))
        else:
            out.append(masks.text(said))
    return "".join((*out, text[end:]))


def _follow(mark: str, keys: list[str]) -> None:
    """Keys of the objects and lists that are open; a list goes by the key it stands under."""
    if mark in "{[":
        keys.append(keys[-1])
    elif mark in "}]" and len(keys) > 1:
        keys.pop()


def _string(token: str, key: str, masks: Masks, is_name: bool) -> str:
    closed = len(token) > 1 and token.endswith('"')
    body = token[1:-1] if closed else token[1:]
    plain = _decoded(token)
    if is_name:
        harmless = is_key(plain)
    else:
        harmless = is_harmless(plain) and (not key or not holds_text(key) or plain.lower() in ("", "none"))
    kept = body if harmless else _encoded(body, plain, masks)
    return f'"{kept}{chr(34) if closed else ""}'


def _decoded(token: str) -> str:
    """The characters that a JSON string stands for; of a broken one, as many as can be told."""
    body = token[1:-1] if len(token) > 1 and token.endswith('"') else token[1:]
    return "".join(_characters(body))


def _characters(body: str) -> Iterator[str]:
    at = 0
    for escape in _ESCAPE.finditer(body):
        yield body[at : escape.start()]
        try:
            yield json.loads(f'"{escape.group()}"')
        except ValueError:
            yield "x"
        at = escape.end()
    yield body[at:]


def _encoded(body: str, plain: str, masks: Masks) -> str:
    """The mask of `plain`, spelled as `body` is: escapes of blanks and quotes stay escapes."""
    masked = masks.identity(plain)
    out: list[str] = []
    at = seen = 0
    for escape in _ESCAPE.finditer(body):
        out.append(masked[seen : seen + escape.start() - at])
        seen += escape.start() - at
        sign = masked[seen : seen + 1]
        out.append(escape.group() if not sign.isalnum() else sign)
        seen += 1
        at = escape.end()
    return "".join((*out, masked[seen:]))


def _id_lists(tokens: list[re.Match[str]]) -> set[int]:
    """Places of the numbers in long flat lists of whole numbers under a key of tokens."""
    found: set[int] = set()
    key, start = "", -1
    for at, (token, after) in enumerate(pairwise((*tokens, None))):
        said = token.group() if token else ""
        if token and token.lastgroup == "string" and after is not None and after.group() == ":":
            key = _decoded(said)
        elif said == "[":
            start = at
        elif said == "]" or after is None:
            inside = range(start + 1, at + (said != "]")) if start >= 0 else range(0)
            numbers = [i for i in inside if tokens[i].lastgroup == "number"]
            whole = all(tokens[i].group().lstrip("-").isdigit() for i in numbers)
            if len(numbers) >= FEW_NUMBERS and whole and TOKEN_KEYS.search(key):
                found.update(numbers)
            start = -1
    return found
