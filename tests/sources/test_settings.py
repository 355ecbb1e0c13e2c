"""Files of settings, and records that hold many rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rollprof.schema.ledger import Ledger
from rollprof.sources.columnar import is_table, rows_of
from rollprof.sources.settings import NEEDS_YAML, read_settings
from rollprof.sources.sniffing import sniff


def read(path: Path, text: str, ledger: Ledger | None = None) -> dict[str, object]:
    path.write_text(text)
    return read_settings(sniff(str(path), path.name), ledger or Ledger())


def test_yaml_and_json_without_secrets(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    assert read(tmp_path / "c.yaml", "a:\n  b: [1, 2]\n  hf_token: x\nd: 1e-6\n") == {
        "a": {"b": [1, 2]},
        "d": "1e-6",
    }
    assert read(tmp_path / "args.json", '{"a": 1,\n "api_key": "x"}') == {"a": 1}


def test_wandb_s_wrapping_is_taken_off(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    text = "wandb_version: 1\n_wandb:\n  value: {}\nn:\n  desc: null\n  value: 8\n"
    text += "trainer:\n  value:\n    nnodes: 2\n"
    assert read(tmp_path / "c.yaml", text) == {"n": 8, "trainer": {"nnodes": 2}}


def test_swanlab_s_wrapping_is_taken_off_and_empty_settings_stay(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    text = "trainer:\n  desc: ''\n  sort: 7\n  value:\n    nnodes: 2\nreward: {}\nodd:\n  desc: x\n"
    assert read(tmp_path / "c.yaml", text) == {"trainer": {"nnodes": 2}, "reward": {}, "odd": {"desc": "x"}}


@pytest.mark.parametrize(
    "text",
    ["a: &x [1]\nb: *x\n", "a: !!python/object/apply:os.system ['true']\n", "a: [1\nb: {", "a:\n\t- b: c\n"],
)
def test_aliases_objects_and_damage_are_refused_with_a_word(tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    ledger = Ledger()
    assert read(tmp_path / "c.yaml", text, ledger) == {}
    assert ledger.problems[0].reason.startswith("unreadable YAML")


def test_without_the_extra_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    ledger = Ledger()
    assert read(tmp_path / "c.yaml", "a: 1\n", ledger) == {}
    assert ledger.problems[0].reason == NEEDS_YAML


def test_rows_of_a_table_and_of_lists() -> None:
    table = {"columns": ["step", "prompt"], "data": [[1, "a"], [2, "b"]]}
    assert is_table(table)
    assert list(rows_of(table)) == [{"step": 1, "prompt": "a"}, {"step": 2, "prompt": "b"}]
    lists = {"step": ["5", "5"], "prompt": ["a", "b"], "note": "x", "empty": []}
    assert not is_table(lists)
    assert list(rows_of(lists)) == [{"step": "5", "prompt": "a"}, {"step": "5", "prompt": "b"}]
    assert list(rows_of({"a": 1})) == []
