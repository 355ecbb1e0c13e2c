"""Writes docs/support.md, and the table between two marks in README.md, from the cells below.

python docs/make_support.py            # write them
python docs/make_support.py --check    # say whether they are up to date
python docs/make_support.py --readme   # print the README's table
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/make_support.py; edit its cells instead. -->"
BEGIN, END = "<!-- support:begin -->", "<!-- support:end -->"

SINKS = ("console", "file", "dump", "TensorBoard", "wandb", "mlflow", "trackio", "SwanLab", "settings")
ABSENT = "–"
"""The framework does not write it."""

OWN, RECORDED, MADE = "own", "recorded", "made"
LEVELS = {
    OWN: "the release's own code, from PyPI, writes it in the test",
    RECORDED: "files that the release's own code wrote, read in the test; they are kept elsewhere",
    MADE: "files in the tracker's format with the framework's keys, made in the test",
}

_VERL = "tests/conformance/test_verl_releases.py"
_ORLHF = "tests/conformance/test_openrlhf_loggers.py"
_TRL = "tests/conformance/test_trl_run.py"
_AGREE = "tests/assemble/test_trackers_agree.py"
_TRACKED = "tests/adapters/test_tracked.py"
_BASES = "tests/sources/test_tracker_databases.py"


@dataclass(frozen=True)
class Proof:
    """One cell: how it is known, and the tests (`file::test`, `[id]` for one of its releases)."""

    level: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """Releases of a framework that write alike; `absent` names the sinks that they do not have."""

    framework: str
    releases: str
    cells: dict[str, Proof]
    absent: tuple[str, ...] = field(default=())


def _of(level: str, *tests: str) -> Proof:
    return Proof(level, tests)


def _ids(test: str, *ids: str) -> tuple[str, ...]:
    return tuple(f"{test}[{i}]" for i in ids)


_SAME = f"{_TRACKED}::test_the_same_columns_whatever_the_tracker"
_VERL_CONFIG = f"{_VERL}::test_everything_a_release_writes"
_TRL_AGREE = f"{_TRL}::test_the_parts_are_one_run_and_agree"
_TRL_SAVED = f"{_TRL}::test_the_whole_is_what_the_trainer_saved"
_TRL_ALONE = f"{_TRL}::test_a_sink_alone_says_the_same"
_TRL_TRACKED = f"{_TRACKED}::test_trl_s_columns_in_trackers_that_transformers_reaches"
_TRL_TABLES = f"{_TRL}::test_the_dump_and_the_tables_hold_the_same_rollouts"
_VERL_TRACKERS = "tests/conformance/test_verl_trackers.py::test_trackers"
_VERL_SPELLING = f"{_TRACKED}::test_verl_s_wandb_settings_and_mlflow_s_spelling"
_SWAN = "tests/sources/test_wandb_log.py::test_swanlab_has_other_messages_in_the_same_frame"

ROWS = (
    Row(
        "verl",
        "0.2 to 0.3",
        {
            "console": _of(OWN, *_ids(f"{_VERL}::test_console_log_alone", "0.2", "0.3.0.post1")),
            "TensorBoard": _of(OWN, *_ids(_VERL_TRACKERS, "0.3.0.post1")),
            "wandb": _of(OWN, *_ids(_VERL_TRACKERS, "0.2", "0.3.0.post1")),
            "mlflow": _of(OWN, *_ids(_VERL_TRACKERS, "0.2", "0.3.0.post1"), _VERL_SPELLING),
            "SwanLab": _of(OWN, *_ids(_VERL_TRACKERS, "0.2", "0.3.0.post1")),
            "settings": _of(OWN, *_ids(_VERL_CONFIG, "0.2", "0.3.0.post1")),
        },
        ("file", "dump", "trackio"),
    ),
    Row(
        "verl",
        "0.4 to 0.5",
        {
            "console": _of(OWN, *_ids(f"{_VERL}::test_console_log_alone", "0.4.0", "0.4.1", "0.5.0")),
            "dump": _of(OWN, *_ids(_VERL_CONFIG, "0.4.0", "0.4.1", "0.5.0")),
            "TensorBoard": _of(OWN, *_ids(_VERL_TRACKERS, "0.4.0", "0.4.1", "0.5.0")),
            "wandb": _of(OWN, *_ids(_VERL_TRACKERS, "0.4.0", "0.4.1", "0.5.0")),
            "mlflow": _of(OWN, *_ids(_VERL_TRACKERS, "0.4.0", "0.4.1", "0.5.0"), _VERL_SPELLING),
            "SwanLab": _of(OWN, *_ids(_VERL_TRACKERS, "0.4.0", "0.4.1", "0.5.0")),
            "settings": _of(OWN, *_ids(_VERL_CONFIG, "0.4.0", "0.4.1", "0.5.0")),
        },
        ("file", "trackio"),
    ),
    Row(
        "verl",
        "0.6 to 0.7",
        {
            "console": _of(
                OWN, *_ids(f"{_VERL}::test_console_log_alone", "0.6.0", "0.6.1", "0.7.0", "0.7.1")
            ),
            "file": _of(OWN, *_ids(f"{_VERL}::test_file_logger_alone", "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
            "dump": _of(OWN, *_ids(_VERL_CONFIG, "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
            "TensorBoard": _of(OWN, *_ids(_VERL_TRACKERS, "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
            "wandb": _of(OWN, *_ids(_VERL_TRACKERS, "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
            "mlflow": _of(OWN, *_ids(_VERL_TRACKERS, "0.6.0", "0.6.1", "0.7.0", "0.7.1"), _VERL_SPELLING),
            "SwanLab": _of(OWN, *_ids(_VERL_TRACKERS, "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
            "settings": _of(OWN, *_ids(_VERL_CONFIG, "0.6.0", "0.6.1", "0.7.0", "0.7.1")),
        },
        ("trackio",),
    ),
    Row(
        "verl",
        "0.8 to 0.9.1",
        {
            "console": _of(OWN, *_ids(f"{_VERL}::test_console_log_alone", "0.8.0", "0.9.0", "0.9.1")),
            "file": _of(OWN, *_ids(f"{_VERL}::test_file_logger_alone", "0.8.0", "0.9.0", "0.9.1")),
            "dump": _of(OWN, *_ids(f"{_VERL}::test_dumps_of_the_v1_trainer", "0.8.0", "0.9.0", "0.9.1")),
            "TensorBoard": _of(OWN, *_ids(_VERL_TRACKERS, "0.8.0", "0.9.0", "0.9.1"), f"{_AGREE}::test_verl"),
            "wandb": _of(OWN, *_ids(_VERL_TRACKERS, "0.8.0", "0.9.0", "0.9.1")),
            "mlflow": _of(OWN, *_ids(_VERL_TRACKERS, "0.8.0", "0.9.0", "0.9.1"), _VERL_SPELLING),
            "SwanLab": _of(OWN, *_ids(_VERL_TRACKERS, "0.8.0", "0.9.0", "0.9.1")),
            "trackio": _of(OWN, *_ids(_VERL_TRACKERS, "0.8.0", "0.9.0", "0.9.1")),
            "settings": _of(
                OWN,
                *_ids(_VERL_CONFIG, "0.8.0", "0.9.0", "0.9.1"),
                f"{_TRACKED}::test_hydra_s_files_are_settings_of_verl",
            ),
        },
    ),
    Row(
        "OpenRLHF",
        "0.8",
        {
            "console": _of(OWN, *_ids(f"{_ORLHF}::test_console", "0.8.11")),
            "dump": _of(MADE, "tests/adapters/openrlhf/test_dumps.py::test_claims"),
            "TensorBoard": _of(RECORDED, *_ids(f"{_AGREE}::test_older_releases_of_openrlhf", "v0.8.11_sync")),
            "wandb": _of(MADE, f"{_TRACKED}::test_flat_arguments_of_openrlhf_get_their_new_names", _SAME),
            "settings": _of(OWN, *_ids(f"{_ORLHF}::test_console", "0.8.11")),
        },
        ("file", "mlflow", "trackio", "SwanLab"),
    ),
    Row(
        "OpenRLHF",
        "0.9",
        {
            "console": _of(OWN, *_ids(f"{_ORLHF}::test_console", "0.9.5", "0.9.10")),
            "dump": _of(MADE, "tests/adapters/openrlhf/test_dumps.py::test_claims"),
            "TensorBoard": _of(OWN, *_ids(f"{_ORLHF}::test_tensorboard", "0.9.5", "0.9.10")),
            "wandb": _of(OWN, *_ids(f"{_ORLHF}::test_wandb", "0.9.5", "0.9.10")),
            "settings": _of(OWN, *_ids(f"{_ORLHF}::test_console", "0.9.5", "0.9.10")),
        },
        ("file", "mlflow", "trackio", "SwanLab"),
    ),
    Row(
        "OpenRLHF",
        "0.10 to 0.11.2",
        {
            "console": _of(
                OWN,
                *_ids(f"{_ORLHF}::test_console", "0.10.4", "0.11.2"),
                *_ids(
                    "tests/conformance/test_openrlhf_cli.py::test_reads_its_own_log",
                    "sync",
                    "async",
                    "partial",
                ),
            ),
            "TensorBoard": _of(
                OWN, *_ids(f"{_ORLHF}::test_tensorboard", "0.10.4", "0.11.2"), f"{_AGREE}::test_openrlhf"
            ),
            "wandb": _of(OWN, *_ids(f"{_ORLHF}::test_wandb", "0.10.4", "0.11.2"), f"{_AGREE}::test_openrlhf"),
            "settings": _of(OWN, *_ids(f"{_ORLHF}::test_console", "0.10.4", "0.11.2")),
        },
        ("file", "dump", "mlflow", "trackio", "SwanLab"),
    ),
    Row(
        "TRL",
        "0.19",
        {
            "console": _of(OWN, _TRL_AGREE, *_ids(f"{_AGREE}::test_trl", "real_run_0.19.1")),
            "file": _of(OWN, _TRL_AGREE, _TRL_SAVED),
            "dump": _of(OWN, _TRL_TABLES),
            "TensorBoard": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "out/runs")),
            "wandb": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "wandb")),
            "mlflow": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "mlruns")),
            "SwanLab": _of(MADE, *_ids(_TRL_TRACKED, "swanlab")),
            "settings": _of(OWN, _TRL_SAVED),
        },
        ("trackio",),
    ),
    Row(
        "TRL",
        "0.29 to 1.14",
        {
            sink: _of(
                RECORDED,
                *_ids(
                    "tests/adapters/trl/test_releases_corpus.py::test_a_run_of_a_release",
                    "0.29.1",
                    "1.0.0",
                    "1.10.0",
                    "1.14.0",
                ),
            )
            for sink in ("console", "file", "dump", "TensorBoard", "settings")
        }
        | {"wandb": _of(MADE, f"{_TRACKED}::test_trl_s_timers_belong_to_the_log_that_follows", _SAME)}
        | {name: _of(MADE, *_ids(_TRL_TRACKED, name.lower())) for name in ("mlflow", "trackio", "SwanLab")},
    ),
    Row(
        "TRL",
        "1.16",
        {
            "console": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "stdout.log")),
            "file": _of(OWN, _TRL_AGREE, _TRL_SAVED),
            "dump": _of(OWN, _TRL_SAVED, _TRL_TABLES),
            "TensorBoard": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "out/runs")),
            "wandb": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "wandb")),
            "mlflow": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "mlruns")),
            "trackio": _of(OWN, _TRL_AGREE, *_ids(_TRL_ALONE, "trackio")),
            "SwanLab": _of(MADE, *_ids(_TRL_TRACKED, "swanlab")),
            "settings": _of(OWN, _TRL_SAVED),
        },
    ),
)

CONTAINERS = (
    ("TensorBoard events", "tests/sources/test_tfevents.py::test_scalars_come_with_step_value_and_time"),
    (
        "wandb's own log",
        "tests/sources/test_wandb_log.py::test_rows_of_history_keep_wandb_s_step_their_time_and_nested_keys",
    ),
    (
        "wandb's history as CSV, JSON lines, Parquet",
        f"{_BASES}::test_exports_of_a_history_as_csv_json_lines_and_parquet",
    ),
    ("SwanLab's own log", _SWAN),
    ("trackio's database", f"{_BASES}::test_trackio_s_runs_in_order_with_settings_and_gpus"),
    ("mlflow's database", f"{_BASES}::test_mlflow_s_database"),
    ("mlflow's file store", f"{_BASES}::test_a_run_in_mlflow_s_file_store_is_one_file"),
    ("Hydra's and wandb's YAML", "tests/sources/test_settings.py::test_yaml_and_json_without_secrets"),
)
"""Whatever the framework: the container, byte by byte."""

HEAD = f"""\
# What is tested

{NOTE}

Which files of which release rollprof reads, and the test that shows it. The letter says how the test comes by
its files:

| | |
|---|---|
{{levels}}
| {ABSENT} | this release does not write it |
| | not tested for this release; the tracker's format is (see the end of this page) |

*console* is the log of the terminal or of Ray; *file* is verl's file logger and TRL's `trainer_state.json`;
*dump* holds the rollouts (`rollout_data_dir`, `completions/*.parquet`, OpenRLHF's batch inference; TRL 0.19
has them in wandb's tables alone);
*settings* are the printed configuration, Hydra's files or `training_args.bin`. verl 0.6 and
0.7 name trackio, but their call of it fails.
"""
MARK = {OWN: "**W**", RECORDED: "R", MADE: "M"}


def table() -> str:
    """The matrix as a Markdown table, each letter a link to its tests."""
    head = "| framework | release | " + " | ".join(SINKS) + " |"
    rule = "|---|---|" + "---|" * len(SINKS)
    lines = [head, rule]
    for n, row in enumerate(ROWS):
        cells = (_cell(row, sink, f"support.md#row-{n + 1}") for sink in SINKS)
        lines.append(f"| {row.framework} | {row.releases} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: Row, sink: str, anchor: str) -> str:
    if sink in row.absent:
        return ABSENT
    proof = row.cells.get(sink)
    return "" if proof is None else f"[{MARK[proof.level]}]({anchor})"


def page() -> str:
    """docs/support.md."""
    levels = "\n".join(f"| {MARK[level]} | {words} |" for level, words in LEVELS.items())
    parts = [HEAD.format(levels=levels), table().replace("support.md#", "#"), ""]
    parts += ["## The tests, row by row", ""]
    for n, row in enumerate(ROWS):
        parts += [f'<a id="row-{n + 1}"></a>', f"**{row.framework} {row.releases}**", ""]
        for sink in SINKS:
            proof = row.cells.get(sink)
            if proof is not None:
                parts.append(
                    f"- {sink} ({MARK[proof.level]}): " + ", ".join(f"`{t}`" for t in _short(proof.tests))
                )
        parts.append("")
    parts += ["## The trackers' formats", ""]
    parts += [f"- {name}: `{test}`" for name, test in CONTAINERS]
    parts += [
        "",
        "## To run them all",
        "",
        "Letters **W** need packages from PyPI; what is not there is skipped, with the reason. In the tests'",
        "environment, `orjson pyyaml` for verl's writers and `tensorboard wandb` for OpenRLHF's; TRL trains,",
        "and verl's trackers are, in environments of their own (torch 2.13.0, 2 GB, two minutes):",
        "",
        "```sh",
        "pip install orjson pyyaml tensorboard wandb",
        "tests/conformance/make_environments.sh ~/frameworks >frameworks.env && . ./frameworks.env",
        "pytest -rs -n 2 --dist loadgroup -m conformance",
        "```",
        "",
        "`.ci/run` does just that. Beyond it, OpenRLHF's command line trains on a CPU, three minutes a mode,",
        "when ROLLPROF_OPENRLHF_PYTHON names an environment that `sample_logs/make_openrlhf.py` describes.",
        "",
        "Letters R need the folder of recorded logs that ROLLPROF_CORPUS names, and are skipped without it.",
        "",
    ]
    return "\n".join(parts)


def _short(tests: Sequence[str]) -> list[str]:
    """Ids of one test together: `file::test[0.2, 0.4.0]`."""
    found: dict[str, list[str]] = {}
    for test in tests:
        name, _, given = test.partition("[")
        found.setdefault(name, []).append(given.rstrip("]"))
    return [f"{name}[{', '.join(ids)}]" if ids[0] else name for name, ids in found.items()]


def readme_section() -> str:
    """The table for the README, between its marks."""
    return f"{BEGIN}\n{table().replace('support.md#', 'docs/support.md#')}\n{END}"


def named_tests() -> list[str]:
    """Every test that a cell or a container names."""
    cells = [test for row in ROWS for proof in row.cells.values() for test in proof.tests]
    return sorted({*cells, *(test for _, test in CONTAINERS)})


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where `--check` finds a page out of date."""
    if "--readme" in arguments:
        sys.stdout.write(readme_section() + "\n")
        return 0
    target = HERE / "support.md"
    readme = HERE.parent / "README.md"
    wanted = {target: page()}
    text = readme.read_text(encoding="utf-8")
    if BEGIN in text and END in text:
        before, _, rest = text.partition(BEGIN)
        wanted[readme] = before + readme_section() + rest.partition(END)[2]
    stale = [p for p, new in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != new]
    if "--check" in arguments:
        for path in stale:
            sys.stdout.write(f"{path.name} is out of date: python docs/make_support.py\n")
        return 1 if stale else 0
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
