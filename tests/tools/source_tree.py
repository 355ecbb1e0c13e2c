"""The package's own source, parsed: what the tests about its shape look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "rollprof"


@dataclass(frozen=True)
class Import:
    """`module` (in full) imported on `line`; `at_top` when importing the file runs it."""

    module: str
    line: int
    at_top: bool


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: Path
    name: str
    is_package: bool

    @cached_property
    def text(self) -> str:
        """Its source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text, str(self.path))

    def calls(self) -> Iterator[tuple[str, int]]:
        """Dotted name and line of everything that is called: `open`, `self.path.read_bytes`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func), node.lineno


class SourceTree:
    """All modules below a package folder."""

    def __init__(self, folder: Path) -> None:
        self.modules = {m.name: m for m in (_module(folder, path) for path in sorted(folder.rglob("*.py")))}

    def imports(self, module: Module) -> list[Import]:
        """What a module imports, wherever in it; `from package import submodule` names the submodule."""
        found: list[Import] = []
        top = set(map(id, _run_on_import(module.tree.body)))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = self._base(module, node)
                names = [self._named(base, alias.name) for alias in node.names]
            else:
                continue
            found.extend(Import(name, node.lineno, id(node) in top) for name in dict.fromkeys(names))
        return found

    def _base(self, module: Module, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = module.name.split(".")
        parts = parts[: len(parts) - node.level + module.is_package]
        return ".".join([*parts, node.module] if node.module else parts)

    def _named(self, base: str, name: str) -> str:
        return full if (full := f"{base}.{name}") in self.modules else base


def _module(folder: Path, path: Path) -> Module:
    parts = [PACKAGE, *path.relative_to(folder).with_suffix("").parts]
    is_package = parts[-1] == "__init__"
    return Module(path, ".".join(parts[:-1] if is_package else parts), is_package)


def _run_on_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the file is imported: not in functions, not under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _run_on_import(node.orelse)
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from _run_on_import(getattr(node, name, []))
        for handler in getattr(node, "handlers", []):
            yield from _run_on_import(handler.body)
