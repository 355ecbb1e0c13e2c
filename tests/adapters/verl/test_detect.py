"""What is verl's and what only looks like it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollprof.adapters.verl.detect import claim
from rollprof.sources.records import SniffedFile

Make = Callable[..., SniffedFile]

STEP = "step:1 - actor/pg_loss:-0.012 - timing_s/gen:3.950 - response_length/mean:27.750"
ROW: dict[str, Any] = {"input": "q", "output": "a", "score": 0.0, "step": 1}
UID = "00000000-0000-4000-8000-000001000000_0_0"


def rows(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(r) + "\n" for r in records)


@pytest.mark.parametrize(
    "text",
    [
        f"{STEP}\n",
        f"\x1b[36m(TaskRunner pid=3163)\x1b[0m {STEP}\n",
        f"\x1b[2m\x1b[36m(main_task pid=64899, ip=10.0.0.1)\x1b[0m {STEP}\n",
        "step:0 - timing/gen:21.470 - critic/lr(1e-4):0.100\n",
        f"Training Progress:   1%|▏ | 1/435 [01:10<2:00, 64.47s/it]{STEP}\n",
        "step:3 - total_num_tokens:1221868.000 - time_per_step:129.690\n",
        "step:3 - self_distillation/x:0.5 - custom:1 - timing_s/gen:3.0\n",
    ],
)
def test_step_lines(make: Make, text: str) -> None:
    found = claim(make(text))
    assert found is not None
    assert (found.role, found.adapter) == ("console", "verl")
    assert found.score > 0.9


def test_a_step_line_far_behind_the_head_and_compressed(make: Make) -> None:
    log = ("loading weights, please wait\n" * 20_000 + STEP + "\n").encode()
    for file in (make(log), make(gzip.compress(log), "run.log.gz")):
        found = claim(file)
        assert found is not None
        assert found.role == "console"


@pytest.mark.parametrize(
    "text",
    [
        # a table that names verl's metrics
        "2026-03-17 22:10:05,910 [tb.py:264] INFO - [45/58] : (avg (std), med) = ( 68.4 (3.3), 69.0)  "
        "# prompt_length/min\n",
        # a README
        "# verl\nverl prints `step:1 - timing_s/gen:3.95 - actor/lr:1e-06` after each step; "
        "`[FullyAsyncTrainer]` lines and `{'actor_rollout_ref': {'actor': …` come first.\n"
        "- `timing_s/gen`: seconds of generation\n- critic/score/mean: the reward\n",
        # a launch script
        "#!/bin/bash\nset -x\npython3 -m verl.trainer.main_ppo \\\n    trainer.n_gpus_per_node=8 \\\n"
        "    actor_rollout_ref.rollout.n=5\n",
        # another framework's steps
        "step:1 - loss:0.3 - lr:1e-6\nstep:2 - loss:0.2 - lr:1e-6\n",
        "Global step 1: {'policy_loss': 0.1, 'timing/generation': 3.0}\n",
        "the trainer saved global_step_60 and said step:1 - nothing/else:matters\n",
        "def concat(data, step):\n    output = [f'step:{step}']\n",
    ],
)
def test_false_friends(make: Make, text: str) -> None:
    assert claim(make(text)) is None


def test_metrics_one_per_line_and_beheaded_lines(make: Make) -> None:
    broken = "".join(f" - timing_s/t{i}:{i}.5\n" for i in range(6))
    found = claim(make(broken))
    assert found is not None
    assert (found.role, found.why) == ("console", "metrics of verl's console, one per line")
    rest = "0.01 - critic/returns/max:2.4 - response_length/mean:87.4 - timing_s/gen:5.4 - r\n"
    found = claim(make(rest))
    assert found is not None
    assert found.why == "console log of verl (the rest of a step line)"


def test_what_has_no_step_yet(make: Make) -> None:
    config = claim(make("(main_task pid=1) {'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,\n"))
    assert config is not None
    assert config.role == "config"
    trace = claim(make("+ python3 -m verl.trainer.main_ppo trainer.nnodes=1\n"))
    assert trace is not None
    assert trace.role == "config"
    waiting = claim(make("(TaskRunner pid=2) \nTraining Progress:   0%|   | 0/58 [07:16<?, ?it/s]\n"))
    assert waiting is not None
    assert waiting.role == "console"
    assert waiting.score < 0.5
    async_log = claim(make("(FullyAsyncRollouter pid=2) [FullyAsyncRollouter][MonitorLoop][Statistics] {}\n"))
    assert async_log is not None
    assert async_log.role == "console"


@pytest.mark.parametrize(
    "record",
    [
        {**ROW, "acc": False, "overlong": 0.0},  # 0.4
        {**ROW, "gts": "0", "request_id": "r1"},  # 0.5, 0.6
        {**ROW, "gts": [{"Action": 1}], "pred": "x", "acc": 0.0},
        {"input": "q", "output": "a", "gts": None, "score": 0.0, "step": 1, "uid": UID},
        {"input": [{"role": "user", "content": "q"}], "output": "a", "score": {"score": 1.0}, "step": 1},
    ],
)
def test_dumps_of_every_key_era(make: Make, record: dict[str, Any]) -> None:
    found = claim(make(rows(record, record), "dump/7.jsonl"))
    assert found is not None
    assert (found.role, found.split, found.series) == ("rollouts", "train", "dump")
    assert found.score >= 0.95
    whole = claim(make(rows(record, record), "all_rollouts.jsonl"))
    assert whole is not None
    assert whole.series == "all_rollouts.jsonl"


@pytest.mark.parametrize(
    ("folder", "split"),
    [
        ("val_generations", "eval"),
        ("out/validation/dumps", "eval"),
        ("test", "eval"),
        ("rollout_data", "train"),
        ("latest", "train"),
        ("val/rollouts", "train"),
        ("contest", "train"),
    ],
)
def test_validation_dumps_by_their_folder(make: Make, folder: str, split: str) -> None:
    found = claim(make(rows(ROW), f"{folder}/7.jsonl"))
    assert found is not None
    assert found.split == split


def test_validation_dumps_by_the_v1_trainers_keys(make: Make) -> None:
    train = {**ROW, "gts": "0", "uid": UID}
    found = claim(make(rows(train, train), "dump/7.jsonl"))
    assert found is not None
    assert found.split == "train"
    found = claim(make(rows({**train, "reward": 0.0, "acc": 0.0}), "dump/7.jsonl"))
    assert found is not None
    assert found.split == "eval"


@pytest.mark.parametrize(
    "record",
    [
        {"input": "q", "output": "a", "score": 1.0},  # anybody's, without a step
        {"prompt": "q", "response": "a", "reward": 1.0, "step": 1},
        {"input_tokens": 1, "output_tokens": 2, "step": 1},
        {"step": 1, "data": {"x": 1}, "more": 2},
        {"step": 1, "data": 5},
    ],
)
def test_records_of_others(make: Make, record: dict[str, Any]) -> None:
    assert claim(make(rows(record, record), "log.jsonl")) is None


def test_the_file_logger(make: Make) -> None:
    compact = claim(make('{"step":1,"data":{"timing_s/gen":1.5}}\n', "exp.jsonl"))
    assert compact is not None
    assert (compact.role, dict(compact.hints)) == ("metrics", {"mark.orjson": "1"})
    spaced = claim(make('{"step": 1, "data": {"timing_s/gen": 1.5, "x": NaN}}\n', "exp.jsonl"))
    assert spaced is not None
    assert dict(spaced.hints) == {"mark.json_logger": "1"}
    foreign = claim(make('{"step": 1, "data": {"loss": 1.5}}\n', "exp.jsonl"))
    assert foreign is not None
    assert foreign.score < 0.5


def test_reasons_are_for_people(make: Make) -> None:
    found = claim(make(rows(ROW), "val/7.jsonl"))
    assert found is not None
    assert found.why == "validation dump of verl (input, output, score per line; folder 'val')"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.one_of(
        st.binary(max_size=300),
        st.lists(
            st.dictionaries(
                st.sampled_from(["input", "output", "score", "step", "uid", "data", "reward"]),
                st.recursive(
                    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda x: st.lists(x, max_size=2),
                ),
            ),
            max_size=4,
        ).map(lambda found: rows(*found).encode()),
    )
)
def test_any_file_is_looked_at_without_a_complaint(make: Make, content: bytes) -> None:
    claim(make(content, "dump/1.jsonl"))
