"""plotly.js as it goes into a report: the copy that comes with plotly.py, compressed, and its hash."""

from __future__ import annotations

import base64
import gzip
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class PlotlyJs:
    """`payload` is base64 of gzip; `digest` a Content-Security-Policy source that admits the script."""

    payload: str
    digest: str


@lru_cache(maxsize=1)
def plotly_js() -> PlotlyJs:
    """The bundle of the plotly that is installed (MIT licence, which its first lines state)."""
    script = resources.files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    packed = gzip.compress(script, compresslevel=9, mtime=0)
    return PlotlyJs(base64.b64encode(packed).decode("ascii"), policy_source(script))


def policy_source(script: bytes) -> str:
    """`'sha256-...'` of an inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode('ascii')}'"
