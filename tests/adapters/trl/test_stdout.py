"""Console logs: steps from bars, panels and epochs; several runs; what is lost."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from rollprof.adapters.base import MetricPart
from rollprof.adapters.trl.progress import ELAPSED
from rollprof.schema.ledger import Ledger

from .log_text import bar, by_step, metrics, panel, reasons, redrawn, v4, v5

Read = Callable[..., tuple[list[MetricPart], Ledger]]

END = "{'train_runtime': 168.4877, 'train_samples_per_second': 0.57, 'train_loss': 0.1, 'epoch': 1.0}"


def steps_of(part: MetricPart) -> list[int | None]:
    return sorted({r.step for r in part.metrics if r.key == "reward"}, key=lambda s: s or 0)


def lengths(part: MetricPart) -> dict[int | None, float]:
    return {
        s: v["completions/mean_length"] for s, v in by_step(part).items() if "completions/mean_length" in v
    }


def test_the_whole_terminal_gives_exact_steps_and_the_clock(read: Read) -> None:
    log = bar(0, 40, "00:00") + "".join(
        redrawn(s, 40, f"00:{s:02}", v5(metrics(s), s / 40)) for s in range(10, 41, 10)
    )
    (part,), ledger = read(log)
    assert lengths(part) == {10: 38.75, 20: 48.75, 30: 58.75, 40: 68.75}
    assert {s: v[ELAPSED] for s, v in by_step(part).items() if ELAPSED in v} == {
        0: 0.0,
        10: 10.0,
        20: 20.0,
        30: 30.0,
        40: 40.0,
    }
    assert part.hints == {"mark.transformers5": "1"}
    assert ledger.skipped == 0


def test_bars_of_steps_without_a_dict_are_kept(read: Read) -> None:
    between = "".join(f"\r{bar(s, 100, f'{5 * s // 60:02}:{5 * s % 60:02}')}" for s in range(1, 5))
    (part,), _ = read(f"\r{bar(0, 100, '00:00')}{between}{redrawn(5, 100, '00:25', v4(metrics(5), 0.05))}\n")
    clock = {s: v[ELAPSED] for s, v in by_step(part).items() if ELAPSED in v}
    assert clock == {0: 0.0, 1: 5.0, 2: 10.0, 3: 15.0, 4: 20.0, 5: 25.0}
    assert steps_of(part) == [5]


def test_panels_alone_give_steps(read: Read) -> None:
    log = "\n".join(f"{v4(metrics(s), s / 40)}\n{panel(s)}" for s in (4, 8, 12))
    (part,), _ = read(log + "\n" + END)
    assert steps_of(part) == [4, 8, 12]
    assert part.config["log.last_step"] == 12
    assert not part.hints.get("steps")


def test_async_panels_count_groups_and_are_not_believed(read: Read) -> None:
    """AsyncGRPO prints panels with the number of groups scored, not the step."""
    log = ""
    for s in (1, 2, 3):
        values = metrics(s, perf__rollout_wait_s=1.0, perf__step_s=4.0)
        log += redrawn(s, 10, f"00:{4 * s:02}", v5(values, s / 10)) + panel(16 * s) + "\n"
    (part,), _ = read(log)
    assert steps_of(part) == [1, 2, 3]


def test_dicts_before_one_bar_count_back_from_it(read: Read) -> None:
    """Unsloth under `tee`: five dicts, then the bar at five."""
    log = f"{bar(0, 20, '00:00')}some text\n"
    for first in (1, 6):
        log += "".join(v4(metrics(s), s / 1000) + "\n" for s in range(first, first + 5))
        log += bar(first + 4, 20, f"00:{first + 4:02}") + "[2025-09-08][INFO] x\n"
    (part,), _ = read(log)
    assert steps_of(part) == list(range(1, 11))


def test_the_bar_on_the_same_line_when_nothing_follows(read: Read) -> None:
    (part,), _ = read(bar(9, 200, "03:00") + v5(metrics(9), 0.07143))
    assert steps_of(part) == [9]


def test_glued_bars_belong_to_the_dict_behind_them(read: Read) -> None:
    log = "\n".join(bar(s, 200, f"03:{s:02}") + v5(metrics(s), s / 28) for s in (9, 10, 11))
    (part,), _ = read(log)
    assert steps_of(part) == [9, 10, 11]


def test_the_epoch_tells_steps_after_a_hole(read: Read) -> None:
    log = "".join(redrawn(s, 50, f"00:{s:02}", v4(metrics(s), 0.03 * s)) for s in (1, 2, 3, 4))
    log += "\n" + "\n".join(v4(metrics(s), 0.03 * s) for s in (40, 41)) + "\n"
    (part,), _ = read(log)
    assert steps_of(part) == [1, 2, 3, 4, 40, 41]


def test_swift_says_its_step(read: Read) -> None:
    text = (
        "{'loss': 3.14e-06, 'completion_length': 74.35, 'response_clip_ratio': 0.0, 'reward': 0.5, "
        "'epoch': 0.0, 'global_step/max_steps': '5/8724', 'elapsed_time': '2m 25s', "
        "'train_speed(iter/s)': 0.028684}"
    )
    (part,), _ = read(text + "\nTrain:   0%|   | 5/8724 [02:25<69:44:50, 28.80s/it]\n")
    assert steps_of(part) == [5]
    assert by_step(part)[5][ELAPSED] == 145.0
    assert part.hints["mark.swift"] == "1"


def test_without_any_sign_steps_are_counted_and_it_is_said(read: Read) -> None:
    (part,), _ = read(f"{v4(metrics(1), 0.1)}\n{v4(metrics(2), 0.2)}\n")
    assert steps_of(part) == [1, 2]
    assert part.hints["steps"] == "counted"
    evaluated = v4({"eval_loss": 0.1, "eval_reward": 0.2}, 0.2)
    (part,), _ = read(f"{v4(metrics(1), 0.1)}\n{v4(metrics(2), 0.2)}\n{evaluated}\n{END}\n")
    assert by_step(part)[2]["eval_reward"] == 0.2
    assert not [k for k in part.config if k.startswith(("log.evaluated", "log.last_step"))]


def test_pretty_printed_and_hard_wrapped_dicts(read: Read) -> None:
    pretty = v4(metrics(1), 0.1).replace(", '", ",\n '")
    (part,), ledger = read(pretty + "\n")
    assert lengths(part) == {1: 29.75}
    assert ledger.repaired == len(metrics(1)) + 1
    text = redrawn(3, 9, "00:03", v4(metrics(3), 0.3)).split("\r")[-2]
    wrapped = "\n".join(text[i : i + 80] for i in range(0, len(text), 80))
    (part,), ledger = read(wrapped + "\n")
    assert lengths(part) == {1: 31.75}
    assert by_step(part)[1]["grad_norm"] == 1.0282684564590454
    assert ledger.repaired


def test_a_dict_cut_off_by_the_end_is_left_out_and_noted(read: Read) -> None:
    (part,), ledger = read(f"{v4(metrics(1), 0.1)}\n{v4(metrics(2), 0.2)[:120]}")
    assert steps_of(part) == [1]
    assert any("cuts off" in r for r in reasons(ledger))


def test_evaluation_belongs_to_the_step_of_its_epoch(read: Read) -> None:
    evaluated = {
        "eval_loss": 0.1,
        "eval_runtime": 53.66,
        "eval_reward": 0.2,
        "eval_completions/mean_length": 28.0,
    }
    log = ""
    for s in (1, 2, 3):
        log += redrawn(s, 6, f"00:{10 * s:02}", v5(metrics(s), s / 12)) + "\n"
        if s == 2:
            inner = "".join(f"\r{bar(i, 4, f'00:0{i}')}" for i in range(5))  # evaluation draws a bar too
            log += f"{inner}\r{' ' * 40}\r{v5(evaluated, s / 12)}\n\r{bar(s, 6, '00:25')}\n"
    (part,), _ = read(log)
    values = by_step(part)
    assert steps_of(part) == [1, 2, 3]
    assert values[2]["eval_completions/mean_length"] == 28.0
    assert part.config["log.evaluated.2"] == 0
    assert 4 not in values
    assert "steps" not in part.hints


def test_two_runs_in_one_file(read: Read) -> None:
    log = "".join(redrawn(s, 3, f"00:{s:02}", v4(metrics(s), s / 3)) + "\n" for s in (1, 2, 3)) + END + "\n"
    log += "python train.py --num_generations 16\n" + bar(0, 2, "00:00") + "\n"
    log += (
        "".join(redrawn(s, 2, f"00:{s:02}", v4(metrics(s, reward=0.9), s / 2)) + "\n" for s in (1, 2)) + END
    )
    parts, ledger = read(log)
    assert [(p.label, steps_of(p)) for p in parts] == [("1", [1, 2, 3]), ("2", [1, 2])]
    assert [p.config.get("num_generations") for p in parts] == [None, 16]
    assert any("new run begins" in r for r in reasons(ledger))


def test_a_resume_makes_later_steps_void(read: Read) -> None:
    log = "".join(
        redrawn(s, 9, f"00:{s:02}", v4(metrics(s, reward=0.1), s / 9)) + "\n" for s in (1, 2, 3, 4, 5)
    )
    log += "Traceback (most recent call last):\n" + bar(0, 9, "00:00")
    log += "".join(redrawn(s, 9, f"00:{s:02}", v4(metrics(s, reward=0.7), s / 9)) + "\n" for s in (4, 5, 6))
    (part,), ledger = read(log)
    rewards = {s: v["reward"] for s, v in by_step(part).items() if "reward" in v}
    assert rewards == {1: 0.1, 2: 0.1, 3: 0.1, 4: 0.7, 5: 0.7, 6: 0.7}
    assert any("resumed at step 4" in r for r in reasons(ledger))


def test_a_counted_resume_is_placed_by_its_epoch(read: Read) -> None:
    log = "\n".join(v4(metrics(s, reward=0.1), s / 10) for s in (1, 2, 3, 4))
    log += "\n" + "\n".join(v4(metrics(s, reward=0.7), s / 10) for s in (3, 4, 5)) + "\n"
    (part,), _ = read(log)
    assert {s: v["reward"] for s, v in by_step(part).items()} == {1: 0.1, 2: 0.1, 3: 0.7, 4: 0.7, 5: 0.7}


def test_sft_before_grpo_in_one_file_is_not_a_run(read: Read) -> None:
    sft = "{'loss': 1.5, 'grad_norm': 0.3, 'learning_rate': 1e-05, 'epoch': 1.0}\n" + END + "\n"
    parts, _ = read(sft + v4(metrics(1), 0.1) + "\n")
    assert [steps_of(p) for p in parts] == [[1]]


def test_the_beheaded_dict_gives_nothing_and_says_why(read: Read) -> None:
    parts, ledger = read(v4(metrics(1), 0.1)[1:] + "\n")
    assert parts == []
    assert ledger.skipped == 1
    assert ledger.read == 0
    assert "opening brace is missing" in ledger.problems[0].reason


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("  Instantaneous batch size per device = 8", "per_device_train_batch_size", 8),
        ("  Total train batch size (w. parallel, distributed & accumulation) = 1,024", "train_batch", 1024),
        (
            "   \\\\   /|    Num examples = 33 | Data Parallel GPUs = 2 | Total batch size (4 x 8 x 2) = 64",
            "num_processes",
            2,
        ),
        (">   --num-generations 4 \\", "num_generations", 4),
        ("accelerate launch --num_processes=7 grpo.py --use_vllm true", "num_processes", 7),
        ("max_completion_length=3584,", "max_completion_length", 3584),
        (
            "==((====))==  Unsloth 2025.8.6: Fast Qwen3 patching. Transformers: 4.55.2. vLLM: 0.8.5.",
            "version.transformers",
            "4.55.2",
        ),
        ("INFO [executor_base.py:188] It took 1.295267 seconds to fall asleep.", "vllm_sleeps", True),
    ],
)
def test_settings_from_banners_and_command_lines(read: Read, line: str, name: str, value: object) -> None:
    (part,), _ = read(f"{line}\n{v4(metrics(1), 0.1)}\n")
    assert part.config[name] == value


def test_nan_values_are_kept_as_they_stand(read: Read) -> None:
    (part,), _ = read(
        "{'loss': 0.0, 'grad_norm': nan, 'reward': 0.5, 'completion_length': 3.0, 'epoch': 0.01}\n"
    )
    assert math.isnan(by_step(part)[1]["grad_norm"])
