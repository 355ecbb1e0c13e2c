#!/usr/bin/env python3
"""Makes sample_logs/openrlhf: OpenRLHF's own command line, with an engine that only pretends to decode.

`openrlhf.cli.train_ppo_ray` of the release on PyPI runs as it is: Ray actors, sampling, progress bars, log
lines, arithmetic of the metrics. Three things are stood in for (tests/tools/openrlhf_engine): vLLM, whose
requests take the time of a decode-cost model, flash_attn, and the policy network. Lengths have a long tail
that depends on how hard the prompt is.

    python3.11 -m venv VENV && VENV/bin/pip install torch 'ray[default]==2.55.0' transformers==5.15.0 \\
        datasets peft torchdata accelerate optree tensorboard wandb sympy pylatexenc einops
    DS_BUILD_OPS=0 VENV/bin/pip install deepspeed==0.19.6 && VENV/bin/pip install --no-deps openrlhf==0.11.2
    VENV/bin/python sample_logs/make_openrlhf.py [--mode sync|async|partial|filter] [--out DIR] [--steps N]

Takes about seven minutes on two cores. What names this machine (paths, process ids stay) is taken out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STANDINS = HERE.parent / "tests" / "tools" / "openrlhf_engine"
PROMPTS, SAMPLES, CAP = 32, 8, 2048
WORDS = 96
MODEL = "longtail-7b"
EVAL_EVERY = 4

NOISE = re.compile(
    r"site-packages|FutureWarning|warnings\.warn\(|^\s*$|torch\.set_vital|super\(\).__init__\(loader\)"
)

REWARD = '''
import random

import torch


def reward_func(queries, prompts, labels, **kwargs):
    level = int(labels[0])
    words = len(queries[0].split()) - len(prompts[0].split())
    right = random.random() < max(0.04, 0.93 - 0.085 * level) and words < {cap}
    reward = torch.tensor([float(right)])
    return {{"rewards": reward, "scores": reward, "extra_logs": {{"math_accuracy": reward}}}}
'''


def write_inputs(folder: Path, steps: int) -> None:
    """Prompts with a difficulty, a reward function, and the tokenizer of a model."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    rng = random.Random(20260614)
    words = [f"w{i}" for i in range(WORDS)]
    for name, count in (("train", PROMPTS * steps), ("eval", 24)):
        rows = []
        for _ in range(count):
            level = min(9, int(rng.triangular(0, 10, 3)))
            text = " ".join([f"level{level}", *rng.choices(words, k=rng.randint(24, 90))])
            rows.append(json.dumps({"input": text, "label": str(level), "datasource": "arith"}))
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "reward.py").write_text(REWARD.format(cap=CAP))
    special = ["<pad>", "<eos>", "<unk>", "<bos>", *(f"level{i}" for i in range(10)), "<a>", "<b>"]
    vocabulary = {word: i for i, word in enumerate([*special, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder / MODEL)


def arguments(mode: str) -> list[str]:
    """The command line of the run."""
    given = {
        "actor.model_name_or_path": MODEL,
        "actor.num_gpus_per_node": 4,
        "actor.entropy_coef": 0,
        "vllm.num_engines": 4 if mode == "sync" else 2,
        "vllm.tensor_parallel_size": 1,
        "data.prompt_dataset": "train.jsonl",
        "data.label_key": "label",
        "data.max_len": 4096,
        "reward.remote_url": "reward.py",
        "rollout.batch_size": PROMPTS,
        "rollout.n_samples_per_prompt": SAMPLES,
        "rollout.micro_batch_size": 8,
        "rollout.max_new_tokens": CAP,
        "train.batch_size": PROMPTS * SAMPLES,
        "train.micro_batch_size": 8,
        "algo.advantage.estimator": "group_norm",
        "algo.kl.init_coef": 0,
        "eval.dataset": "eval.jsonl",
        "eval.steps": EVAL_EVERY,
        "eval.n_samples_per_prompt": 2,
        "ckpt.path": "ckpt",
        "ckpt.save_steps": EVAL_EVERY,
        "ds.attn_implementation": "sdpa",
    }
    flags = {
        "sync": ["train.colocate_all", "vllm.enable_sleep"],
        "async": ["train.async_enable"],
        "partial": ["train.async_enable", "train.partial_rollout_enable"],
        "filter": ["algo.dynamic_filtering_enable"],
    }[mode]
    if mode == "filter":  # its last batch has any size, and all ranks must get the same share of it
        given |= {"rollout.micro_batch_size": 2, "train.micro_batch_size": 2, "train.batch_size": 8}
    if mode == "partial":
        given["rollout.vllm_generate_batch_size"] = 2 * PROMPTS
    pairs = [item for key, value in given.items() for item in (f"--{key}", str(value))]
    return ["train_ppo_ray", *pairs, *(f"--{flag}" for flag in flags)]


def run(mode: str) -> None:
    """The job itself, in a process of its own whose output is the log."""
    import ray
    from openrlhf.trainer.ray import ppo_actor

    sys.path.insert(0, str(STANDINS))
    import fake_policy

    ppo_actor.PolicyModelActor = fake_policy.PolicyModelActor
    ray.init(num_cpus=64, num_gpus=8, include_dashboard=False)
    sys.argv = arguments(mode)
    runpy.run_module("openrlhf.cli.train_ppo_ray", run_name="__main__")


def scrubbed(log: str, folder: Path) -> str:
    """The log without this machine's paths, and without what its Python packages warn about."""
    for path, name in ((folder, "/data/run"), (STANDINS, "/opt/engine"), (HERE.parent, "/opt/project")):
        log = log.replace(str(path.resolve()), name)
    log = log.replace(sys.prefix, "/opt/venv").replace(sys.base_prefix, "/usr")
    return "".join(line for line in log.splitlines(keepends=True) if not NOISE.search(line))


def make(out: Path, mode: str, steps: int) -> None:
    """Run the job and write `out/train.log`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_inputs(folder, steps)
        environment = {
            **os.environ,
            "PYTHONPATH": str(STANDINS),
            "DS_ACCELERATOR": "cpu",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "WANDB_MODE": "disabled",
            "COLUMNS": "100",
        }
        command = [sys.executable, "-u", str(Path(__file__).resolve()), "--child", "--mode", mode]
        with (folder / "log").open("wb") as log:
            done = subprocess.run(
                command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False
            )
        text = (folder / "log").read_bytes().decode("utf-8", "replace")
        if done.returncode:
            sys.exit(f"{text[-4000:]}\nthe job ended with {done.returncode}")
        out.mkdir(parents=True, exist_ok=True)
        (out / "train.log").write_text(scrubbed(text, folder), encoding="utf-8", newline="")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=HERE / "openrlhf")
    parser.add_argument("--mode", choices=("sync", "async", "partial", "filter"), default="sync")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run(options.mode)
    else:
        make(options.out, options.mode, options.steps)


if __name__ == "__main__":
    main()
