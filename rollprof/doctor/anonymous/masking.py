"""Text -> other text of the same shape. Equal texts stay equal, different ones different."""

from __future__ import annotations

import re
from hashlib import blake2b, shake_256

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_DIGITS = "0123456789"

SPECIAL = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id|begin_of_text|end_of_text|start_header_id|end_header_id)\|>"
    r"|</?s>|<pad>|<eos>|<bos>|</?think>|</?answer>|<\|(?:user|assistant|system)\|>| <rm_score>: "
)
"""Signs of chat templates: they say how a text was put together, not what it says."""

_IDENTITY = re.compile(r"(pad)?((?=[\w-]*\d)[\w-]{4,64}?)((?:_\d{1,6}){1,3})")


class Masks:
    """Replaces texts. The key is drawn from the log itself, so that a guess at a text cannot be tested
    without the whole log, and the same log always gives the same sample."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of(cls, *contents: bytes) -> Masks:
        """Masks with the key of a log with these contents."""
        digest = blake2b(digest_size=32)
        for content in contents:
            digest.update(content)
        return cls(digest.digest())

    def text(self, text: str) -> str:
        """`text` with another letter for each letter and another digit for each digit.

        The number of characters stays; blanks, ASCII punctuation and the signs of chat templates too.
        """
        if not text or text.isspace():
            return text
        stream = shake_256(self._key + text.encode("utf-8", "surrogatepass")).digest(len(text))
        kept = [slice(*m.span()) for m in SPECIAL.finditer(text)] if "<" in text else []
        signs = [_other(sign, byte) for sign, byte in zip(text, stream, strict=True)]
        for span in kept:
            signs[span] = text[span]
        return "".join(signs)

    def identity(self, name: str) -> str:
        """A text that names something. Numbers at its end, which count samples, and the mark of a padding
        row stay."""
        found = _IDENTITY.fullmatch(name)
        return self.text(name) if found is None else f"{found[1] or ''}{self.text(found[2])}{found[3]}"

    def number(self, digits: str) -> str:
        """A whole number of the same length, which begins with no zero unless `digits` does."""
        found = self.text(digits)
        return found if digits.startswith("0") or not found.startswith("0") else f"1{found[1:]}"

    def address(self, ip: str) -> str:
        """An address in 10.0.0.0/8."""
        a, b, c = blake2b(self._key + ip.encode(), digest_size=3).digest()
        return f"10.{a}.{b}.{c}"


def _other(sign: str, byte: int) -> str:
    if "a" <= sign <= "z":
        return _LOWER[byte % 26]
    if "A" <= sign <= "Z":
        return _UPPER[byte % 26]
    if "0" <= sign <= "9":
        return _DIGITS[byte % 10]
    if sign.isascii() or sign.isspace():
        return sign
    return _LOWER[byte % 26]
