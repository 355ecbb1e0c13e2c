"""Console lines: what is known to be the framework's own goes through, everything else is replaced."""

from __future__ import annotations

import re

from rollprof.doctor.anonymous.masking import Masks
from rollprof.doctor.anonymous.phrases import PHRASES, VALUED
from rollprof.doctor.anonymous.vocabulary import (
    CLOCK,
    NUMBER,
    VERSION,
    holds_data,
    holds_text,
    is_harmless,
    is_key,
)

_N = NUMBER.pattern
_VALUE = rf"(?:np|numpy|torch)\.\w+\({_N}\)|tensor\({_N}[^()]{{0,40}}\)|{_N}"

_SAFE = re.compile(
    "|".join(
        (
            r"(?P<ansi>\x1b\[[0-9;]*[A-Za-z])",
            r"(?P<ray>\(\w{1,40}(?: pid=\d+)(?:, ?ip=[\da-fA-F.:]+)?\))",
            r"(?P<repeated>\[repeated \d+x across cluster\])",
            rf"(?P<stamp>(?<![\w.])(?:{CLOCK.pattern}|\d\d-\d\d \d\d:\d\d:\d\d)(?![\w.]))",
            r"(?P<level>\b(?:INFO|DEBUG|WARNING|ERROR|CRITICAL)\b)",
            r"(?P<module>\b\w{1,60}\.py:\d{1,6}\])",
            rf"(?P<phrase>{'|'.join(PHRASES)}|(?:{'|'.join(VALUED)})(?:{VERSION.pattern}|{_N}|True|False)?)",
            r"(?P<metric>(?:(?<=- )|(?<=^))"
            rf"(?P<mkey>[A-Za-z][\w.@/()%-]{{0,200}}): ?(?P<mvalue>{_VALUE})(?=\s|$))",
            r"(?P<pair>(?P<quote>['\"])(?P<qkey>[^'\"\n]{1,200})(?P=quote)(?P<colon>\s*:\s*)"
            rf"(?P<qvalue>{_VALUE}|None|True|False|'[^'\n]*'|\"[^\"\n]*\"|(?=[\[{{(]|$))?)",
            r"(?P<setting>(?<![\w'\"])(?P<skey>[+~]{0,2}-{0,2}[A-Za-z_][\w./-]{0,120})=(?!=)"
            rf"(?P<svalue>(?=(?:namespace|ServerArgs)\()|'[^'\n]*'|\"[^\"\n]*\"|{_VALUE}(?![\w.])|[^\s,()\[\]{{}}'\"]*))",
        )
    ),
    re.IGNORECASE,
)
_YAML = re.compile(r"^(?P<lead>\s*(?:- )?)(?P<key>[A-Za-z_][\w.-]{0,80})(?P<colon>:\s*)(?P<value>\S.*)?$")
_METRIC = re.compile(rf"(?:^| - )[A-Za-z][\w.@/-]{{0,200}}: ?(?:{_VALUE})(?=\s|$)")
FEW_METRICS = 3
"""`- word:number` is a metric where several stand together."""


def mask_line(line: str, masks: Masks, *, yaml: bool = False) -> str:
    """One line of a console (or of a YAML file) with everything replaced that is not known to be harmless."""
    if yaml and (found := _YAML.match(line)) is not None and is_key(found["key"]):
        value = found["value"] or ""
        return f"{found['lead']}{found['key']}{found['colon']}{_value(found['key'], value, masks)}"
    metrics = "step:" in line or len(_METRIC.findall(line)) >= FEW_METRICS
    out: list[str] = []
    end = 0
    for found in _SAFE.finditer(line):
        out.append(masks.text(line[end : found.start()]))
        out.append(_safe(found, masks, metrics))
        end = found.end()
    return "".join((*out, masks.text(line[end:])))


def _safe(found: re.Match[str], masks: Masks, metrics: bool) -> str:
    kind = next(k for k in _KINDS if found[k] is not None)
    said = found.group()
    if kind == "ray":
        return re.sub(r"(?<=ip=)[\da-fA-F.:]+", lambda ip: masks.address(ip.group()), said)
    if kind == "metric":
        return said if metrics and is_key(found["mkey"]) else masks.text(said)
    if kind == "pair":
        key, quote = found["qkey"], found["quote"]
        named = key if is_key(key) else masks.text(key)
        value = found["qvalue"] or ""
        return f"{quote}{named}{quote}{found['colon']}{_value(key, value, masks)}"
    if kind == "setting":
        key = found["skey"]
        named = key if is_key(key.lstrip("+~-")) else masks.text(key)
        return f"{named}={_value(key, found['svalue'] or '', masks)}"
    return said


_KINDS = ("ansi", "ray", "repeated", "stamp", "level", "module", "phrase", "metric", "pair", "setting")


def _value(key: str, value: str, masks: Masks) -> str:
    """The value of a setting. Settings within it (`namespace(a=1)` as text) are looked at in their turn."""
    quote = value[:1] if len(value) > 1 and value[:1] in "'\"" and value.endswith(value[:1]) else ""
    bare = value[len(quote) : len(value) - len(quote)]
    if is_harmless(bare) and not (holds_text(key) if quote else holds_data(key)):
        return value
    if not holds_text(key) and "amespace(" in bare:
        return f"{quote}{mask_line(bare, masks)}{quote}"
    return f"{quote}{masks.text(bare)}{quote}"
