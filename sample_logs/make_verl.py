"""Makes sample_logs/verl: a small GRPO run as verl 0.8.0 logs it, with the long tail of a real one.

What verl's own code writes here, taken unchanged out of its wheel: the console lines, the file logger's
JSON lines, the rollout dumps, the metric names and their arithmetic, the token balancing that shuffles a
batch, and the resolved configuration. What is invented: the prompts, the lengths and the clock. Lengths
are lognormal with two parts, the prompt's difficulty and luck (40 % of the variance lies between prompts),
cut at the cap; harder prompts are longer and more often wrong. The clock is a decode model: on each of
four engines a decode step costs A + B * rollouts + C * context tokens, so every rollout of an engine
slows the others, and the last one runs alone.

    pip install numpy orjson pyyaml
    python sample_logs/make_verl.py

The output is the same every time.
"""

from __future__ import annotations

import argparse
import math
import os
import pprint
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "tools"))
from verl_writers import Batch, Wheel, Writers, download  # noqa: E402

RELEASE = "0.8.0"
STEPS, PROMPTS, SAMPLES = 12, 32, 8
EPOCH_STEPS = 6  # the data set holds 192 prompts, so each is sampled in two steps
GPUS, ENGINES = 8, 4
PROMPT_CAP, RESPONSE_CAP = 256, 1024
LOG_SIGMA, ICC = 0.8, 0.4
MEDIAN_TOKENS, DRIFT = 116.0, 0.015

A, B, C = 7.4e-3, 1.05e-4, 7.0e-8
"""Seconds per decode step, per rollout in it, and per context token."""
JITTER = 0.02
RUN_FOLDER = "/data/longtail"

ESC = "\x1b"
CYAN, GREEN, OFF = f"{ESC}[36m", f"{ESC}[32m", f"{ESC}[0m"


@dataclass(frozen=True)
class Problem:
    """A prompt of the invented data set; `difficulty` about -2.5 … 2.5."""

    text: str
    answer: str
    difficulty: float

    @property
    def tokens(self) -> int:
        """Prompt tokens: about four characters each, plus the chat template."""
        return 9 + math.ceil(len(self.text) / 3.6)


NAMES = ("Ada", "Ben", "Chi", "Dov", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jun")
THINGS = ("pens", "figs", "coins", "cards", "beads", "shells", "bolts", "stamps")


def problems(rng: random.Random, count: int) -> list[Problem]:
    """Sums, products, word problems and small puzzles, from easy to hard."""
    made: dict[str, Problem] = {}
    while len(made) < count:
        kind = rng.randrange(5)
        a, b, c, d = (rng.randint(2, 99) for _ in range(4))
        who, other, thing = rng.choice(NAMES), rng.choice(NAMES), rng.choice(THINGS)
        if kind == 0:
            text, answer = f"What is {a} + {b}?", a + b
        elif kind == 1:
            text, answer = f"What is {a} * {b} - {c}?", a * b - c
        elif kind == 2:
            text, answer = f"{who} has {a + b} {thing} and gives {b} to {other}. How many are left?", a
        elif kind == 3:
            text = f"{who} packs {a} boxes of {b} {thing}, loses {c} and finds {d}. How many now?"
            answer = a * b - c + d
        else:
            text = f"How many whole numbers from {c} to {c + a * 9} can be divided by {b % 9 + 2}?"
            divisor = b % 9 + 2
            answer = (c + a * 9) // divisor - (c - 1) // divisor
        difficulty = (kind - 2) / math.sqrt(2) * 0.8 + rng.gauss(0, 0.6)
        made.setdefault(text, Problem(text, str(answer), difficulty))
    return list(made.values())


def response(rng: random.Random, tokens: int, answer: str, looping: bool) -> str:
    """Scratch work of exactly `tokens` tokens in a made-up vocabulary: a digit or a sign is one token, a
    short word with its blank another. A cut response goes round in circles and has no answer.
    """
    words = (" so", " now", " add", " and", " then", " but", " hmm", " is")
    parts: list[str] = []
    line: list[str] = []
    while len(parts) < tokens:
        if not (looping and line):
            left, sign, right = rng.randint(10, 99), rng.choice("+*-"), rng.randint(2, 9)
            value = {"+": left + right, "-": left - right, "*": left * right}[sign]
            line = [*str(left), sign, str(right), "=", *str(value)]
            if rng.random() < 0.35:
                line.append(rng.choice(words))
            line.append(";")
        parts.extend(line)
    del parts[tokens:]
    if not looping:
        end = ["#", *answer][-tokens:]
        parts[tokens - len(end) :] = end
    return "".join(parts)


@dataclass(frozen=True)
class Step:
    """One step's rollouts, in the order in which they were sampled."""

    problems: list[Problem]
    tokens: np.ndarray[Any, Any]
    scores: list[float]
    texts: list[str]


def sample_step(rng: random.Random, number: int, batch: Sequence[Problem]) -> Step:
    """SAMPLES responses to every prompt of the batch."""
    rows = [problem for problem in batch for _ in range(SAMPLES)]
    between, within = LOG_SIGMA * math.sqrt(ICC), LOG_SIGMA * math.sqrt(1 - ICC)
    tokens, scores, texts = [], [], []
    for problem in rows:
        log = math.log(MEDIAN_TOKENS) + DRIFT * (number - 1)
        log += between * problem.difficulty + within * rng.gauss(0, 1)
        length = min(RESPONSE_CAP, max(8, round(math.exp(log))))
        cut = length == RESPONSE_CAP
        skill = 0.9 + 0.05 * (number - 1) - 1.5 * problem.difficulty
        right = not cut and rng.random() < 1 / (1 + math.exp(-skill))
        shown = problem.answer if right else str(int(problem.answer) + rng.randint(1, 9))
        tokens.append(length)
        scores.append(1.0 if right else 0.0)
        texts.append(response(rng, length, shown, cut))
    return Step(rows, np.array(tokens), scores, texts)


def decode_times(
    rng: random.Random, prompts: np.ndarray[Any, Any], tokens: np.ndarray[Any, Any]
) -> list[float]:
    """Seconds from submission to completion of every request; request i runs on engine i % ENGINES."""
    finished = [0.0] * len(tokens)
    for engine in range(ENGINES):
        mine = np.arange(engine, len(tokens), ENGINES)
        speed = rng.lognormvariate(0, JITTER / 2)  # no two engines and steps are quite alike
        clock = 0.11 + 2.2e-5 * float(prompts[mine].sum())  # prefill
        ends = [clock]
        for done in range(int(tokens[mine].max())):
            running = tokens[mine] > done
            context = float((prompts[mine][running] + done).sum())
            clock += (A + B * running.sum() + C * context) * speed * rng.lognormvariate(0, JITTER)
            ends.append(clock)
        for row in mine:
            finished[row] = ends[tokens[row]] + rng.uniform(0.002, 0.02)
    return finished


def phase_times(rng: random.Random, slowest: float, total_tokens: int, number: int) -> dict[str, float]:
    """The trainer's own timers, in the order in which it keeps them."""

    def around(seconds: float) -> float:
        return seconds * rng.lognormvariate(0, 0.02)

    timing = {"start_profile": around(9e-5), "gen": slowest + around(0.38), "reward": around(4.5e-5)}
    timing["old_log_prob"] = around(0.21 + 7.5e-6 * total_tokens)
    timing["ref"] = around(0.2 + 7.2e-6 * total_tokens)
    timing["adv"] = around(0.021)
    timing["update_actor"] = around(0.55 + 3.6e-5 * total_tokens)
    if number % EPOCH_STEPS == 0:
        timing["save_checkpoint"] = around(8.5)
    timing["update_weights"] = around(1.35)
    timing["dump_rollout_generations"] = around(0.06)
    inside = sum(value for name, value in timing.items() if name != "start_profile")
    timing["step"] = inside + around(0.012)
    if number % EPOCH_STEPS == 0:
        timing["testing"] = around(5.2)
    timing["stop_profile"] = around(8e-5)
    return timing


def group_advantages(scores: Sequence[float]) -> list[float]:
    """GRPO: the score against its group, in standard deviations."""
    groups = np.asarray(scores).reshape(-1, SAMPLES)
    centred = groups - groups.mean(axis=1, keepdims=True)
    return [float(x) for x in (centred / (groups.std(axis=1, ddof=1, keepdims=True) + 1e-6)).ravel()]


def optimiser_metrics(rng: random.Random, number: int) -> dict[str, float]:
    """What the actor's update reports; nothing in rollprof depends on it."""
    return {
        "actor/entropy": 0.42 * math.exp(-0.03 * number) + rng.gauss(0, 0.01),
        "perf/mfu/actor_infer": 0.27 + rng.gauss(0, 0.01),
        "actor/pg_clipfrac": abs(rng.gauss(4e-4, 1e-4)),
        "actor/ppo_kl": rng.gauss(0, 6e-5),
        "actor/pg_clipfrac_lower": 0.0,
        "actor/pg_loss": rng.gauss(0.01, 0.02),
        "actor/kl_loss": 2.1e-4 * number + abs(rng.gauss(0, 5e-5)),
        "actor/kl_coef": 0.001,
        "actor/grad_norm": 0.19 + rng.gauss(0, 0.02),
        "actor/lr": 1e-06,
        "actor/perf/max_memory_allocated_gb": 51.283203125,
        "actor/perf/max_memory_reserved_gb": 60.837890625,
        "actor/perf/cpu_memory_used_gb": 131.4 + 0.3 * number,
        "perf/mfu/actor": 0.31 + rng.gauss(0, 0.01),
    }


def validation(rng: random.Random, number: int) -> dict[str, Any]:
    """Accuracy on the validation set, with the scalar types that verl leaves there."""
    accuracy = 0.58 + 0.006 * number + rng.gauss(0, 0.01)
    return {
        "val-core/longtail/arith/acc/mean@1": np.float64(accuracy),
        "val-aux/longtail/arith/reward/mean@1": np.float64(accuracy),
        "val-aux/num_turns/min": np.int32(2),
        "val-aux/num_turns/max": np.int32(2),
        "val-aux/num_turns/mean": np.float64(2.0),
    }


class Console:
    """Standard output of a driver: Ray's prefixes, one process after the other."""

    def __init__(self) -> None:
        self.text: list[str] = []

    def say(self, line: str, actor: str = "TaskRunner", pid: int = 41877, note: str = "") -> None:
        """Every line of `line` as Ray forwards it."""
        tail = f"{GREEN} [repeated {note} across cluster]{OFF}" if note else ""
        self.text.extend(f"{CYAN}({actor} pid={pid}){OFF} {part}{tail}" for part in line.split("\n"))

    def raw(self, line: str) -> None:
        """A line of the driver itself."""
        self.text.append(line)

    def progress(self, done: int, elapsed: float) -> None:
        """The training loop's progress bar."""
        filled = round(10 * done / STEPS)
        rate = f"{elapsed / done:5.2f}s/it" if done else "?it/s"
        left = _minutes(elapsed / done * (STEPS - done)) if done else "?"
        bar = "█" * filled + " " * (10 - filled)
        times = f"[{_minutes(elapsed)}<{left}, {rate}]"
        self.say(f"\rTraining Progress: {done * 100 // STEPS:3d}%|{bar}| {done}/{STEPS} {times}")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


OVERRIDES = {
    "algorithm.adv_estimator": "grpo",
    "algorithm.use_kl_in_reward": False,
    "data.train_files": f"{RUN_FOLDER}/arith/train.parquet",
    "data.val_files": f"{RUN_FOLDER}/arith/test.parquet",
    "data.train_batch_size": PROMPTS,
    "data.max_prompt_length": PROMPT_CAP,
    "data.max_response_length": RESPONSE_CAP,
    "actor_rollout_ref.model.path": "Qwen/Qwen2.5-7B-Instruct",
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.actor.ppo_mini_batch_size": PROMPTS,
    "actor_rollout_ref.rollout.name": "vllm",
    "actor_rollout_ref.rollout.n": SAMPLES,
    "actor_rollout_ref.rollout.tensor_model_parallel_size": GPUS // ENGINES,
    "trainer.project_name": "longtail",
    "trainer.experiment_name": "grpo-7b",
    "trainer.logger": ["console", "file"],
    "trainer.n_gpus_per_node": GPUS,
    "trainer.nnodes": 1,
    "trainer.total_epochs": STEPS // EPOCH_STEPS,
    "trainer.save_freq": EPOCH_STEPS,
    "trainer.test_freq": EPOCH_STEPS,
    "trainer.rollout_data_dir": f"{RUN_FOLDER}/rollouts",
}


def opening(console: Console, writers: Writers) -> None:
    """What the run says before its first step."""
    console.raw("2026-06-14 09:02:31,408\tINFO worker.py:2012 -- Started a local Ray instance.")
    console.say("TaskRunner hostname: trainer-0, PID: 41877")
    console.say(pprint.pformat(writers.config(OVERRIDES)))
    console.say(f"dataset len: {EPOCH_STEPS * PROMPTS}")
    console.say(f"Size of train dataloader: {EPOCH_STEPS}, Size of val dataloader: 1")
    console.say(f"Total training steps: {STEPS}")
    loading = "Loading checkpoint shards: 100%|██████████| 4/4 [00:02<00:00,  1.71it/s]"
    console.say(loading, actor="WorkerDict", pid=42310)
    console.say(loading, actor="WorkerDict", pid=42641, note="7x")


def rollout_metrics(
    writers: Writers, rng: random.Random, step: Step, number: int
) -> tuple[dict[str, Any], list[int]]:
    """The metrics of a step by verl's own functions, and the order in which its rows are dumped."""
    prompts = np.array([problem.tokens for problem in step.problems])
    clock = decode_times(rng, prompts, step.tokens)
    lengths = [int(x) for x in prompts + step.tokens]
    ranks = writers.balance([24576 * n + n * n for n in lengths], GPUS)
    order = [row for rank in ranks for row in rank]
    advantages = group_advantages(step.scores)
    batch = Batch(
        [int(prompts[i]) for i in order],
        [int(step.tokens[i]) for i in order],
        [step.scores[i] for i in order],
        [advantages[i] for i in order],
        (PROMPT_CAP, RESPONSE_CAP),
    )
    sampled = Batch(list(prompts), list(step.tokens), step.scores, advantages, (PROMPT_CAP, RESPONSE_CAP))
    requests = [
        {"generate_sequences": seconds, "tool_calls": 0.0, "compute_score": rng.uniform(2e-3, 9e-3)}
        | {"num_preempted": 0}
        for seconds in clock
    ]
    slowest = max(r["generate_sequences"] + r["compute_score"] for r in requests)
    own = phase_times(rng, slowest, sum(lengths), number)
    timing: dict[str, Any] = {"start_profile": own.pop("start_profile")}
    timing |= writers.request_timing(requests, sampled) | own
    metrics = writers.seqlen_metrics(lengths, ranks) | optimiser_metrics(rng, number)
    if "testing" in own:
        metrics |= validation(rng, number)
    metrics |= {"training/global_step": number, "training/epoch": (number - 1) // EPOCH_STEPS}
    metrics |= writers.data_metrics(batch)
    metrics |= writers.timing_metrics(batch, timing)
    metrics |= writers.throughput_metrics(batch, timing, GPUS)
    return metrics, order


def make(out: Path, wheels: Path) -> None:
    """Write the run to `out`."""
    writers = Writers(Wheel(download(RELEASE, wheels)))
    rng = random.Random(20260614)
    data = problems(rng, EPOCH_STEPS * PROMPTS)
    console, elapsed = Console(), 0.0
    opening(console, writers)
    with writers.file_logger(out / "metrics.jsonl") as file_logger:
        console.say(f"Creating file logger at {RUN_FOLDER}/metrics.jsonl")
        first = validation(rng, 0)
        console.say(pprint.pformat(f"Initial validation metrics: {first}"))
        console.say(writers.console_line(first, 0))
        file_logger.log(first, 0)
        console.progress(0, elapsed)
        for number in range(1, STEPS + 1):
            if number % EPOCH_STEPS == 1:
                rng.shuffle(data)
            at = (number - 1) % EPOCH_STEPS * PROMPTS
            step = sample_step(rng, number, data[at : at + PROMPTS])
            metrics, order = rollout_metrics(writers, rng, step, number)
            writers.dump(
                out / "rollouts",
                number,
                [f"user\n{step.problems[i].text}\nassistant\n" for i in order],
                [step.texts[i] for i in order],
                [step.problems[i].answer for i in order],
                [step.scores[i] for i in order],
                {"acc": [step.scores[i] == 1.0 for i in order]},
            )
            console.say(f"Dumped generations to {RUN_FOLDER}/rollouts/{number}.jsonl")
            if number % EPOCH_STEPS == 0:
                console.say(f"local_global_step_folder: checkpoints/longtail/grpo-7b/global_step_{number}")
            console.say(writers.console_line(metrics, number))
            file_logger.log(metrics, number)
            elapsed += float(metrics["timing_s/step"]) + float(metrics.get("timing_s/testing", 0.0))
            console.progress(number, elapsed)
        console.say(pprint.pformat(f"Final validation metrics: {validation(rng, STEPS)}"))
    (out / "console.log").write_text("\n".join(console.text) + "\n", encoding="utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=HERE / "verl")
    parser.add_argument("--wheels", type=Path, help="folder for the downloaded wheel (default: temporary)")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # verl iterates over a set of names
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        make(options.out, options.wheels or Path(temporary))


if __name__ == "__main__":
    main()
