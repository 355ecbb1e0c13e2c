"""Lines of SGLang's log that speak of one request: `--enable-request-time-stats-logging`, and
`--log-requests` as text.

    Req Time Stats(rid=…, input len=5, output len=9, type=unified): queue_duration=1.23ms, …   (older)
    ReqTimeStats(rid=…, input_len=5, …, output_len=9, …): queue_duration=1.23ms, forward_duration=4.5ms, …
    Finish: obj=GenerateReqInput(…), out={…, 'meta_info': {'prompt_tokens': 5, 'completion_tokens': 9, …}}

The second kind is a Python repr that may be abbreviated: values are found by their names behind the last
`meta_info`, and nothing is evaluated.
"""

from __future__ import annotations

import re

TIMES = ("ReqTimeStats(", "Req Time Stats(")
FINISH = "Finish: obj="
MARKS = tuple(mark.encode() for mark in (*TIMES, FINISH))

_NUMBER = r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_OF_TIMES = (
    ("request_prompt_tokens", re.compile(r"\binput[_ ]len=(\d+)"), 1.0),
    ("request_output_tokens", re.compile(r"\boutput[_ ]len=(\d+)"), 1.0),
    ("request_queue_s", re.compile(rf"\bqueue_duration={_NUMBER}ms"), 1e-3),
    ("request_forward_s", re.compile(rf"\bforward_duration={_NUMBER}ms"), 1e-3),
)
_OF_FINISH = (
    ("request_prompt_tokens", re.compile(r"\bprompt_tokens'?: (\d+)"), 1.0),
    ("request_output_tokens", re.compile(r"\bcompletion_tokens'?: (\d+)"), 1.0),
    ("request_queue_s", re.compile(rf"\bqueue_time'?: {_NUMBER}"), 1.0),
    ("request_e2e_s", re.compile(rf"\be2e_latency'?: {_NUMBER}"), 1.0),
)


def begins(text: str) -> int:
    """Where what is said of a request begins; -1 in any other line."""
    return min((at for mark in (*TIMES, FINISH) if (at := text.find(mark)) >= 0), default=-1)


def values(text: str) -> dict[str, float]:
    """Tokens and seconds of the request of such a line, as far as they are there."""
    if text.startswith(FINISH):
        chosen, text = _OF_FINISH, text[max(text.rfind("meta_info"), text.rfind(", out="), 0) :]
    else:
        chosen = _OF_TIMES
    return {
        name: float(found[1]) * unit
        for name, pattern, unit in chosen
        if (found := pattern.search(text)) is not None
    }
