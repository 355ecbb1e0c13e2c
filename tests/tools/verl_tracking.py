"""A release's own `Tracking` logs to its backends, in a process of its own: `python verl_tracking.py <SPEC`.

SPEC (JSON on stdin): wheel, backends, config, steps ([step, metrics] pairs). The trackers write into the
working folder. Needs the backends' packages; torch for TensorBoard, pandas for mlflow, orjson from 0.7.1 on.
"""

from __future__ import annotations

import json
import sys
import types
import zipfile
from typing import Any

MEMBER = "verl/utils/tracking.py"


def module_of(wheel: str) -> types.ModuleType:
    """verl's module, which imports nothing else of verl until a backend asks for it."""
    source = zipfile.ZipFile(wheel).read(MEMBER).decode()
    module = types.ModuleType("verl_tracking_of_the_release")
    sys.modules[module.__name__] = module
    exec(compile(source, MEMBER, "exec"), module.__dict__)
    return module


def main() -> None:
    """Log and finish, as the trainer does."""
    spec: dict[str, Any] = json.load(sys.stdin)
    tracking = module_of(spec["wheel"]).Tracking("project", "experiment", spec["backends"], spec["config"])
    for step, metrics in spec["steps"]:
        tracking.log(data=metrics, step=step)
    getattr(tracking, "finish", tracking.__del__)()


if __name__ == "__main__":
    main()
