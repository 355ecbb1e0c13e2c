"""Settings: flags over environment over the nearest file; mistakes say where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollprof.config import OPTIONS, Configured, resolve
from rollprof.errors import ConfigProblem


def found(folder: Path, flags: dict[str, object] | None = None, **environ: str) -> Configured:
    return resolve(flags or {}, start=folder, environ=environ)


def test_nothing_is_configured_by_default(tmp_path: Path) -> None:
    assert found(tmp_path) == Configured({}, {}, ())


def test_flags_over_environment_over_file(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text('from = "verl"\ntz = "UTC"\nsplit = "eval"\n')
    values = found(
        tmp_path, {"from": "generic", "run": None}, ROLLPROF_FROM="trl", ROLLPROF_TZ="+02:00"
    ).values
    assert values == {"from": "generic", "tz": "+02:00", "split": "eval"}


def test_origins(tmp_path: Path) -> None:
    file = tmp_path / "rollprof.toml"
    file.write_text("\nkeep_text = true\n")
    origins = found(tmp_path, {"gpu_hour_cost": 2.5}, ROLLPROF_QUIET="1").origins
    assert origins == {
        "keep_text": f"{file}:2",
        "quiet": "ROLLPROF_QUIET",
        "gpu_hour_cost": "--gpu-hour-cost",
    }


def test_tables_are_merged_key_by_key(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("config = { gpus = 8, engines = 4 }\n")
    values = found(tmp_path, {"config": {"gpus": "16"}}, ROLLPROF_CONFIG="max_num_seqs=256, engines=2").values
    assert values["config"] == {"gpus": "16", "engines": "2", "max_num_seqs": "256"}


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "rollprof.toml").write_text('run = "outer"\n')
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n')  # says nothing: passed over
    assert found(inner).values == {"run": "outer"}
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.rollprof]\nrun = "inner"\n')
    assert found(inner).values == {"run": "inner"}
    (tmp_path / "a" / "rollprof.toml").write_text('run = "own"\n')
    assert found(inner).values == {"run": "own"}


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "rollprof.toml").write_text('tokenizer = "t.json"\noutput = "/abs/ds"\n')
    assert found(inner).values == {"tokenizer": str(tmp_path / "t.json"), "output": "/abs/ds"}


def test_dashes_do_as_well_as_underscores(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("gpu-hour-cost = 2\n")
    assert found(tmp_path).values == {"gpu_hour_cost": 2.0}


def problem(folder: Path, **environ: str) -> ConfigProblem:
    with pytest.raises(ConfigProblem) as caught:
        found(folder, **environ)
    assert "\n" not in caught.value.message
    return caught.value


def test_unknown_keys_say_where_and_what_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nkeep_txt = 1\n\n[tool.rollprof]\nfrom = "verl"\nkeep_txt = true\n')
    error = problem(tmp_path)
    assert error.message == f"{file}:6: unknown key keep_txt"
    assert error.hint == "did you mean keep_text?"


def test_unknown_tables_say_where(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.rollprof]\nquiet = true\n[tool.rollprof.confg]\ngpus = 8\n")
    error = problem(tmp_path)
    assert error.message == f"{file}:3: unknown key confg"
    assert error.hint == "did you mean config?"


def test_keys_like_nothing_get_the_list(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("zzz = 1\n")
    assert "gpu_hour_cost" in (problem(tmp_path).hint or "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('quiet = "yes"', "quiet must be true or false"),
        ('gpu_hour_cost = "two"', "gpu_hour_cost must be a number, 0 or more"),
        ("gpu_hour_cost = -1", "gpu_hour_cost must be a number, 0 or more"),
        ("gpu_hour_cost = nan", "gpu_hour_cost must be a number, 0 or more"),
        ("gpu_hour_cost = true", "gpu_hour_cost must be a number, 0 or more"),
        ('split = "test"', "split must be one of train, eval"),
        ("config = 8", "config must be a table of KEY = VALUE"),
        ("config = { gpus = [8] }", "config must be a table of KEY = VALUE"),
        ("from = ['verl']", "from must be text"),
    ],
)
def test_wrong_values(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "rollprof.toml").write_text(f"\n{line}\n")
    assert problem(tmp_path).message == f"{tmp_path / 'rollprof.toml'}:2: {message}"


def test_what_is_no_toml_says_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text('from = "verl"\nrun =\n')
    assert problem(tmp_path).message.startswith(f"{tmp_path / 'rollprof.toml'}:2:6: not valid TOML: ")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = 1\n" + b"b" * 10])
def test_what_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rollprof.toml").write_bytes(content)
    assert "rollprof.toml" in problem(tmp_path).message


def test_a_broken_project_file_of_somebody_else_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other\n")
    assert found(tmp_path).values == {}


def test_tool_rollprof_must_be_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nrollprof = 3\n")
    assert "must be a table" in problem(tmp_path).message


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("on", True), ("TRUE", True), ("0", False), ("", False)]
)
def test_flags_in_the_environment(tmp_path: Path, text: str, value: bool) -> None:
    assert found(tmp_path, ROLLPROF_VERBOSE=text).values == {"verbose": value}


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ROLLPROF_VERBOSE", "perhaps"),
        ("ROLLPROF_GPU_HOUR_COST", "cheap"),
        ("ROLLPROF_CONFIG", "gpus"),
        ("ROLLPROF_SPLIT", "x"),
    ],
)
def test_wrong_variables_name_themselves(tmp_path: Path, variable: str, text: str) -> None:
    assert problem(tmp_path, **{variable: text}).message.startswith(f"{variable}: ")


def test_nearly_right_variables_get_a_remark(tmp_path: Path) -> None:
    remarks = found(tmp_path, ROLLPROF_KEEP_TXT="1", ROLLPROF_DEBUG="1", ROLLPROF_OTHER_TOOL="1").remarks
    assert remarks == ("ROLLPROF_KEEP_TXT is not known and has no effect: did you mean ROLLPROF_KEEP_TEXT?",)


def test_every_option_has_words() -> None:
    assert all(option.doc and option.name == name for name, option in OPTIONS.items())
