"""The house keeps its shape: one direction of imports, small documented files, nothing evaluated."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent / "tools"
spec = importlib.util.spec_from_file_location("source_tree", TOOLS / "source_tree.py")
assert spec is not None
assert spec.loader is not None
source_tree = importlib.util.module_from_spec(spec)
sys.modules["source_tree"] = source_tree
spec.loader.exec_module(source_tree)

TREE = source_tree.SourceTree(Path(__file__).resolve().parent.parent / "rollprof")
NAMES = sorted(TREE.modules)

ANYWHERE = ("rollprof.errors", "rollprof.config")
"""Importable from every layer, and standing on nothing but each other."""

LAYERS: tuple[tuple[str, ...], ...] = (
    ("rollprof.schema.tables", "rollprof.schema.exchange", "rollprof.schema.ledger"),
    ("rollprof.sources",),
    ("rollprof.adapters",),
    ("rollprof.parallel",),
    ("rollprof.schema.store", "rollprof.schema.checks"),  # knows only the tables; assemble writes through it
    ("rollprof.curves",),  # samples over time: arrays alone, for assemble and analyzers
    ("rollprof.assemble",),
    ("rollprof.stats",),
    ("rollprof.model",),
    ("rollprof.analyzers",),
    ("rollprof.compare", "rollprof.whatif"),
    ("rollprof.gate",),  # a baseline is a comparison with a limit
    ("rollprof.doctor",),  # a survey of the input beside the analysis of its run
    ("rollprof.render",),
    ("rollprof.api",),
    ("rollprof.cli",),
)
"""bytes -> records -> tables -> figures -> text. A layer imports only from those before it; rooms of one
layer do not import each other, except that schema's two files belong together."""

TOGETHER = (
    {"rollprof.schema.tables", "rollprof.schema.ledger"},
    {"rollprof.schema.store", "rollprof.schema.checks"},
)

FORBIDDEN: dict[str, tuple[str, ...]] = {
    # figures are computed from tables: whoever computes them has no business with files or frameworks
    "rollprof.stats": ("rollprof.sources", "rollprof.adapters", "rollprof.parallel", "rollprof.assemble"),
    "rollprof.model": ("rollprof.sources", "rollprof.adapters", "rollprof.parallel", "rollprof.assemble"),
    "rollprof.analyzers": ("rollprof.sources", "rollprof.parallel", "rollprof.assemble"),
    # text is made from results
    "rollprof.render": ("rollprof.sources", "rollprof.parallel", "rollprof.assemble", "rollprof.model"),
}

RENDER_SEES = (
    "rollprof.analyzers.results",
    "rollprof.analyzers.registry",
    "rollprof.analyzers.figure_spec",
    "rollprof.analyzers.catalog",
)
"""Of the analyzers, renderers see the results and what the figures are, not how they are computed."""

HEAVY = ("polars", "pyarrow", "numpy", "pandas", "scipy", "plotly", "duckdb")
BYTE_FORMATS = (
    "gzip",
    "zlib",
    "bz2",
    "lzma",
    "zstandard",
    "msgspec",
    "csv",
    "sqlite3",
    "struct",
    "mmap",
    "fsspec",
)
OPENS = ("open", "read_bytes", "read_text", "write_bytes", "write_text")

LONG_FILES: dict[str, str] = {}
"""Module: why it is better long than cut. Files stay under 400 lines otherwise."""

LIMIT = 400


def room(name: str) -> tuple[int, str] | None:
    """Layer and room of a module; None for the façade and for package files without a layer."""
    for layer, rooms in enumerate(LAYERS):
        for prefix in rooms:
            if name == prefix or name.startswith(prefix + "."):
                return layer, prefix
    return None


def inside(name: str, *prefixes: str) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def where(module: str, line: int) -> str:
    return f"{TREE.modules[module].path.name}:{line}"


def test_every_module_has_a_layer() -> None:
    façade = {"rollprof", "rollprof.__main__", "rollprof.schema", *ANYWHERE}
    assert [name for name in NAMES if name not in façade and room(name) is None] == []


@pytest.mark.parametrize("name", NAMES)
def test_imports_point_one_way(name: str) -> None:
    module = TREE.modules[name]
    own = room(name)
    wrong = []
    for found in TREE.imports(module):
        target = found.module
        if not inside(target, "rollprof") or target in ("rollprof", *ANYWHERE):
            continue
        other = room(target)
        if name in ANYWHERE:
            wrong.append(f"{where(name, found.line)} {name} stands on {target}")
        elif own is not None and other is not None:
            same = own[1] == other[1] or {own[1], other[1]} in TOGETHER
            if not same and other[0] >= own[0]:
                wrong.append(f"{where(name, found.line)} {name} imports {target}, a later layer")
    for prefix, forbidden in FORBIDDEN.items():
        if inside(name, prefix):
            wrong.extend(
                f"{where(name, found.line)} {name} must not see {found.module}"
                for found in TREE.imports(module)
                if inside(found.module, *forbidden)
            )
    assert wrong == []


@pytest.mark.parametrize("name", [n for n in NAMES if inside(n, "rollprof.render")])
def test_render_sees_results_only(name: str) -> None:
    seen = [i.module for i in TREE.imports(TREE.modules[name]) if inside(i.module, "rollprof.analyzers")]
    assert [module for module in seen if not inside(module, *RENDER_SEES)] == []


@pytest.mark.parametrize("name", [n for n in NAMES if inside(n, "rollprof.adapters")])
def test_adapters_know_no_byte_format(name: str) -> None:
    module = TREE.modules[name]
    heavy = [i.module for i in TREE.imports(module) if i.at_top and i.module.split(".")[0] in HEAVY]
    formats = [i.module for i in TREE.imports(module) if i.module.split(".")[0] in BYTE_FORMATS]
    opened = [where(name, line) for call, line in module.calls() if call.split(".")[-1] in OPENS]
    assert (heavy, formats, opened) == ([], [], [])


CONVERSION = ("rollprof.sources", "rollprof.adapters", "rollprof.parallel", "rollprof.schema.tables")


@pytest.mark.parametrize("name", [n for n in NAMES if inside(n, *CONVERSION)])
def test_conversion_workers_load_neither_polars_nor_scipy(name: str) -> None:
    imports = TREE.imports(TREE.modules[name])
    assert [
        i.module for i in imports if i.module.split(".")[0] in ("polars", "scipy", "plotly", "rich")
    ] == []


def test_sources_know_no_framework() -> None:
    frameworks = ("verl", "openrlhf", "trl")
    assert [n for n in NAMES if inside(n, "rollprof.sources") and any(f in n for f in frameworks)] == []


@pytest.mark.parametrize(
    "name", [n for n in NAMES if inside(n, "rollprof.analyzers", "rollprof.stats", "rollprof.model")]
)
def test_figures_are_computed_without_input_or_output(name: str) -> None:
    opens = (*OPENS, "print", "input", "read_parquet", "scan_parquet", "read_csv", "read_json")
    assert [
        where(name, line) for call, line in TREE.modules[name].calls() if call.split(".")[-1] in opens
    ] == []


def test_files_have_one_reason_to_exist() -> None:
    lengths = {name: module.text.count("\n") for name, module in TREE.modules.items()}
    long = {name for name, lines in lengths.items() if lines > LIMIT}
    assert long - LONG_FILES.keys() == set(), "cut them, or say in LONG_FILES why not"
    assert LONG_FILES.keys() - long == set(), "no longer long: take them off the list"


@pytest.mark.parametrize("name", NAMES)
def test_everything_public_is_documented(name: str) -> None:
    module = TREE.modules[name]
    missing = [] if ast.get_docstring(module.tree) else ["the module itself"]
    private = any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            public = not node.name.startswith("_") and not private
            if public and not ast.get_docstring(node) and not _overload(node):
                missing.append(f"{node.name}:{node.lineno}")
    assert missing == []


def _overload(node: ast.AST) -> bool:
    return any("overload" in ast.unparse(d) for d in getattr(node, "decorator_list", []))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_evaluated_or_unpickled(name: str) -> None:
    module = TREE.modules[name]
    banned_calls = {"eval", "exec", "compile", "__import__", "yaml.load", "os.system", "builtins.eval"}
    calls = [f"{call}:{line}" for call, line in module.calls() if call in banned_calls]
    banned = ("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "torch")
    imports = [i.module for i in TREE.imports(module) if i.module.split(".")[0] in banned]
    assert (calls, imports) == ([], [])


@pytest.mark.parametrize("name", [n for n in NAMES if not inside(n, "rollprof.cli")])
def test_only_the_command_line_prints(name: str) -> None:
    assert [where(name, line) for call, line in TREE.modules[name].calls() if call == "print"] == []


@pytest.mark.parametrize("name", NAMES)
def test_user_facing_code_names_no_machine(name: str) -> None:
    """No folder of the machine it was written on, and nothing beside the checkout."""
    text = TREE.modules[name].text
    assert re.findall(r"/(?:home|mnt|opt|root|srv|work|Users)/|\.\./[a-z]", text) == []


def test_the_checks_above_can_fail(tmp_path: Path) -> None:
    package = tmp_path / "rollprof"
    (package / "sources").mkdir(parents=True)
    (package / "adapters").mkdir()
    (package / "adapters" / "__init__.py").write_text("")
    (package / "sources" / "__init__.py").write_text("")
    source = "import polars\ndef f():\n    from ..adapters import verl\n    import gzip\n"
    (package / "sources" / "x.py").write_text(source)
    (package / "adapters" / "verl.py").write_text("")
    tree = source_tree.SourceTree(package)
    found = {(i.module, i.at_top) for i in tree.imports(tree.modules["rollprof.sources.x"])}
    assert found == {("polars", True), ("rollprof.adapters.verl", False), ("gzip", False)}
    assert room("rollprof.adapters.verl") > room("rollprof.sources.x")  # type: ignore[operator]
