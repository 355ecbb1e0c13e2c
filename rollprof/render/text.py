"""Text that came out of a log is data: made harmless here before any renderer shows it."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"""
      \x1b\[ [0-?]* [ -/]* [@-~]?            # CSI: colours, cursor
    | \x9b   [0-?]* [ -/]* [@-~]?            # the same as one C1 character
    | [\x1b\x9d][\]]? (?<=[\]\x9d]) [^\x07\x1b\x9c]* (?: \x07 | \x1b\\ | \x9c )?   # OSC: titles, links
    | \x1b [PX^_] [^\x1b\x9c]* (?: \x1b\\ | \x9c )?   # DCS, SOS, PM, APC
    | \x1b [ -/]* [0-~]?                     # everything else that ESC starts
    """,
    re.VERBOSE,
)
_SPACES = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_HARMFUL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"  # invisible and direction-changing
    "\U000e0000-\U000e007f]"  # tag characters
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str, limit: int | None = None) -> str:
    """`text` on one line, without control sequences, control or direction-changing characters.

    `limit` cuts to that many characters, with an ellipsis.
    """
    text = _SEQUENCES.sub("", text)
    text = _SPACES.sub(" ", text)
    text = _HARMFUL.sub("", text)
    text = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"
    return text


_ASCII = str.maketrans(
    {
        "·": "|",
        "–": "-",
        "—": "-",
        "→": ">",
        "…": "~",
        "≤": "<",
        "≥": ">",
        "×": "x",
        "█": "#",
        "░": ":",
        "─": "-",
        "┬": "+",
        "▏": ".",
        "▎": ".",
        "▍": ".",
        "▌": "=",
        "▋": "=",
        "▊": "#",
        "▉": "#",
        "▁": "_",
        "▂": ".",
        "▃": "-",
        "▄": "-",
        "▅": "=",
        "▆": "+",
        "▇": "*",
        "↑": "^",
    }
)


def to_ascii(text: str) -> str:
    """For a terminal whose encoding has no block characters: the same picture in ASCII, no wider."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
