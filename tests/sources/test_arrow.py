"""Arrow does not load pandas for the sake of a list."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_pandas_stays_away_until_it_is_asked_for() -> None:
    code = (
        "import sys; from rollprof.sources.arrow import without_pandas; without_pandas()\n"
        "import pyarrow as pa; table = pa.table({'a': pa.array([1, 2])}); print('pandas' in sys.modules)\n"
        "print(len(table.to_pandas())); print(type(sys.meta_path[0]).__name__ != '_NoPandas')"
    )
    assert run(code).split() == ["False", "2", "True"]


def test_a_pandas_that_is_there_is_left_alone() -> None:
    code = (
        "import pandas as pd; from rollprof.sources.arrow import without_pandas; without_pandas()\n"
        "import pyarrow as pa; print(pa.array(pd.Series([1.0, float('nan')])).null_count)"
    )
    assert run(code).split() == ["1"]
