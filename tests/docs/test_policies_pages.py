"""A page for each policy, with its parameters and options as the code has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollprof.whatif.enable import ENABLE
from rollprof.whatif.policies.catalog import POLICIES


@pytest.mark.parametrize("name", POLICIES)
def test_the_page_says_what_the_code_says(name: str, root: Path) -> None:
    page = (root / "docs" / "policies" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}\n")
    for parameter in POLICIES[name].parameters:
        default = parameter.default if isinstance(parameter.default, str) else f"{parameter.default:g}"
        assert f"| `{parameter.name}` | {default} | {parameter.doc}" in page
    for part in ("**Off-policy:**", "**Bias:**", "**Published:**"):
        assert part in page
    for framework, option in ENABLE.get(name, {}).items():
        assert f"| {framework} | {option} |" in page


def test_the_index_lists_all(root: Path) -> None:
    index = (root / "docs" / "whatif.md").read_text(encoding="utf-8")
    assert [n for n in POLICIES if f"(policies/{n}.md)" not in index] == []
    pages = {p.stem for p in (root / "docs" / "policies").glob("*.md")}
    assert pages == set(POLICIES)
