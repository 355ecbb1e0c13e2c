"""Arrow as a program of its own uses it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec


class _NoPandas:
    """A finder that says of pandas that it is not there."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ImportError("not needed")
        return None


def without_pandas() -> None:
    """Tells Arrow not to load pandas.

    Where pandas is installed, Arrow imports it (a third of a second, in each process) to see whether a list
    that it is given is one of its series. It asks once; a later import of pandas works as ever.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    absent = _NoPandas()
    sys.meta_path.insert(0, absent)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(absent)
