"""The matrix of frameworks, releases and sinks: every cell names tests that exist."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

NO_TEST = "no such test"


@pytest.fixture(scope="module")
def maker(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_support", root / "docs" / "make_support.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(root: Path) -> None:
    command = [sys.executable, str(root / "docs" / "make_support.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def problem_of(root: Path, name: str) -> str | None:
    """Why `file::test[id]` is no test, None for one that is."""
    file, _, rest = name.partition("::")
    function, _, given = rest.partition("[")
    path = root / file
    if not path.is_file():
        return f"no such file: {file}"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function]
    if not found:
        return f"{NO_TEST}: {function} in {file}"
    if any("skip" in ast.unparse(d) for d in found[0].decorator_list):
        return f"{function} is skipped"
    known = parameters(tree, found[0])
    return None if not given or given.rstrip("]") in known else f"{function} has no parameter {given}"


def parameters(tree: ast.Module, function: ast.FunctionDef) -> set[str]:
    """Texts that parametrize a test: those of its decorators, and of the constants that these name."""
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    texts: set[str] = set()
    waiting: list[ast.AST] = list(function.decorator_list)
    seen: set[str] = set()
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                texts.update(joined(node, constants))
            elif isinstance(node, ast.Name) and node.id in constants and node.id not in seen:
                seen.add(node.id)
                waiting.append(constants[node.id])
    return texts


def joined(node: ast.JoinedStr, constants: dict[str, ast.expr]) -> set[str]:
    """`f"variants/{v}"` over a list: each of its texts behind the fixed part."""
    fixed = "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
    items = {c.value for e in constants.values() for c in ast.walk(e) if isinstance(c, ast.Constant)}
    return {f"{fixed}{item}" for item in items if isinstance(item, str)}


def test_every_named_test_exists(root: Path, maker: ModuleType) -> None:
    problems = {name: problem_of(root, name) for name in maker.named_tests()}
    assert {name: why for name, why in problems.items() if why} == {}


def test_a_name_without_a_test_is_found(root: Path) -> None:
    here = "tests/docs/test_support.py"
    assert problem_of(root, f"{here}::test_every_named_test_exists") is None
    assert problem_of(root, f"{here}::test_nothing") is not None
    assert problem_of(root, "tests/nowhere.py::test_x") is not None
    real = "tests/conformance/test_openrlhf_loggers.py::test_console"
    assert problem_of(root, f"{real}[0.11.2]") is None
    assert problem_of(root, f"{real}[0.1.2]") is not None


def test_what_is_written_in_the_test_is_written_by_the_release(root: Path, maker: ModuleType) -> None:
    for row in maker.ROWS:
        for sink, proof in row.cells.items():
            assert sink in maker.SINKS
            assert sink not in row.absent
            assert proof.tests
            if proof.level == maker.OWN:
                assert any(test.startswith("tests/conformance/") for test in proof.tests), (row, sink)


def test_every_release_that_conformance_writes_is_in_the_matrix(maker: ModuleType, root: Path) -> None:
    page = (root / "docs" / "support.md").read_text(encoding="utf-8")
    for file in ("test_verl_releases.py", "test_openrlhf_loggers.py"):
        text = (root / "tests" / "conformance" / file).read_text(encoding="utf-8")
        releases = re.findall(r'"(\d+\.\d+[\w.]*)"', text.partition("RELEASES = ")[2].partition(")\n")[0])
        assert len(releases) >= 5
        assert [r for r in releases if r not in page] == []


def test_rows_are_as_wide_as_the_head(maker: ModuleType) -> None:
    widths = {line.count("|") for line in maker.table().splitlines()}
    assert widths == {len(maker.SINKS) + 3}
