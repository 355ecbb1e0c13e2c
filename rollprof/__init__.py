"""rollprof: the long tail of an RL post-training run, from the logs it left behind.

    >>> import rollprof
    >>> run = rollprof.open_run("run.jsonl")            # doctest: +SKIP
    >>> rollprof.analyze(run).figures["slot_idle"]      # doctest: +SKIP
    >>> rollprof.report(run).figures["lengths"]         # doctest: +SKIP
    >>> rollprof.check(run, max={"idle": 0.3}).failed   # doctest: +SKIP

Names are loaded when they are first used: importing rollprof costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollprof.api import analyze, check, compare_runs, report, to_html, whatif
    from rollprof.render.document import Report
    from rollprof.schema.store import Dataset as Run

__version__ = "0.1.0"

__all__ = [
    "Report",
    "Run",
    "__version__",
    "analyze",
    "check",
    "compare_runs",
    "open_run",
    "report",
    "to_html",
    "whatif",
]


def open_run(*paths: str, **options: Any) -> Run:
    """Open logs or a dataset as a run. `options` are the fields of `rollprof.api.OpenOptions`."""
    from rollprof import api

    return api.open_run(paths, options=api.OpenOptions(**options))


def __getattr__(name: str) -> Any:
    if name in ("analyze", "check", "compare_runs", "report", "to_html", "whatif"):
        from rollprof import api

        return getattr(api, name)
    if name == "Report":
        from rollprof.render.document import Report

        return Report
    if name == "Run":
        from rollprof.schema.store import Dataset

        return Dataset
    raise AttributeError(f"module 'rollprof' has no attribute {name!r}")
