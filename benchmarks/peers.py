"""What people would script instead: the same questions to a file of rollouts, in DuckDB, polars and pandas.

    python benchmarks/peers.py duckdb FILE

Rows, characters of all responses, mean score, prompts and last step: a bare read that writes nothing. All of
them must print the same line, and all stop at the first damaged line of a killed run.
"""

from __future__ import annotations

import sys
from typing import Any

TYPES = {"input": "VARCHAR", "output": "VARCHAR", "score": "DOUBLE", "step": "BIGINT"}


def duckdb(path: str) -> tuple[Any, ...]:
    import duckdb as engine

    columns = ", ".join(f"{name}: '{kind}'" for name, kind in TYPES.items())
    found = engine.execute(
        "SELECT count(*), sum(length(output)), avg(score), count(DISTINCT hash(input)), max(step) "
        f"FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})",
        [path],
    ).fetchone()
    assert found is not None
    return found


def _polars(frame: Any) -> tuple[Any, ...]:
    import polars as pl

    row: tuple[Any, ...] = frame.select(
        pl.len(),
        pl.col("output").str.len_chars().sum(),
        pl.col("score").mean(),
        pl.col("input").hash().n_unique().alias("prompts"),
        pl.col("step").max(),
    ).row(0)
    return row


def _schema() -> dict[str, Any]:
    import polars as pl

    return dict(zip(TYPES, (pl.String, pl.String, pl.Float64, pl.Int64), strict=True))


def polars_scan(path: str) -> tuple[Any, ...]:
    import polars as pl

    columns = [pl.col("input"), pl.col("output"), pl.col("score"), pl.col("step")]
    lazy = pl.scan_ndjson(path, schema=_schema()).select(
        columns[0].hash().alias("h"), columns[1].str.len_chars().alias("n"), *columns[2:]
    )
    frame = lazy.collect(engine="streaming")
    return (frame.height, frame["n"].sum(), frame["score"].mean(), frame["h"].n_unique(), frame["step"].max())


def polars_read(path: str) -> tuple[Any, ...]:
    import polars as pl

    return _polars(pl.read_ndjson(path, schema=_schema()))


def pandas(path: str) -> tuple[Any, ...]:
    import pandas as pd

    frame = pd.read_json(path, lines=True)
    prompts = frame["input"].nunique()
    return (len(frame), frame["output"].str.len().sum(), frame["score"].mean(), prompts, frame["step"].max())


PEERS = {f.__name__: f for f in (duckdb, polars_scan, polars_read, pandas)}

if __name__ == "__main__":
    rows, characters, score, prompts, last = PEERS[sys.argv[1]](sys.argv[2])
    sys.stdout.write(f"{rows} {characters} {score:.6f} {prompts} {last}\n")
