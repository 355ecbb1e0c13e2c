"""Makes `sample_logs/trl`: a real GRPO run by TRL's own trainer on two CPU processes, with a model small
enough to train in a minute.

Nothing is downloaded: the tokenizer is a list of words, the model is built here. Four families of words
carry a prompt's difficulty from its last word through the answer, and each family ends its answers with
another probability, so lengths are a mixture of geometric distributions with a long tail, and hard prompts
are the long ones.

    pip install torch==2.13.0 trl==1.16.0 transformers==5.24.0 pandas pyarrow rich
    python sample_logs/make_trl.py sample_logs/trl

Older releases train it too (0.19.1 with transformers 4.55.4), and `--report-to tensorboard wandb ...` brings
trackers, which write into the folder and nowhere else.

Values differ a little from machine to machine: token sampling depends on the threads of the matrix library.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

STEPS = 12
PROCESSES = 2
PER_DEVICE_BATCH = 64
GROUP = 8
CAP = 256
LEVELS = ("easy", "fair", "hard", "nasty")
MEAN_TOKENS = (12, 26, 55, 110)
"""Mean answer length of each level before the cap."""
WORDS_PER_LEVEL = 24
ACCEPTED = (16, 10, 5, 2)
"""How many of a level's words count as the right last word."""
REWARD_WEIGHTS = [1.0, 0.5]


def build_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    numbers = [str(n) for n in range(len(LEVELS) * WORDS_PER_LEVEL)]
    words = ["<pad>", "<eos>", "<unk>", *numbers, *LEVELS, "Which", "number", "follows", "and", "?"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def build_model(tokenizer):
    """A two-layer Qwen2 whose next word depends on the last one's family.

    Dimension k of the embedding marks family k; the head turns it into the words of that family and into
    the probability of the end, 1 / mean length.
    """
    import math

    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        initializer_range=0.004,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    model = Qwen2ForCausalLM(config)
    embedding, head = model.model.embed_tokens.weight, model.lm_head.weight
    scale = math.sqrt(config.hidden_size)  # what the final norm makes of a vector along one axis
    with torch.no_grad():
        head.zero_()
        for k, level in enumerate(LEVELS):
            family = [str(n) for n in range(k * WORDS_PER_LEVEL, (k + 1) * WORDS_PER_LEVEL)]
            rows = tokenizer.convert_tokens_to_ids(family)
            for row in [*rows, tokenizer.convert_tokens_to_ids(level)]:
                embedding[row] = torch.randn(config.hidden_size) * 0.01
                embedding[row, k] = 1.0
            head[rows, k] = 10.0 / scale
            end = 10.0 + math.log(WORDS_PER_LEVEL / (MEAN_TOKENS[k] - 1))
            head[tokenizer.eos_token_id, k] = end / scale
    return model


def exact(completions, level, answer, **_):
    """1.0 where the last number is one of those that the level accepts."""
    accepted = {
        n: {str(k * WORDS_PER_LEVEL + (a + i) % WORDS_PER_LEVEL) for i in range(ACCEPTED[k])}
        for n, (k, a) in enumerate(zip(level, answer, strict=True))
    }
    return [float(c.split()[-1:] != [] and c.split()[-1] in accepted[n]) for n, c in enumerate(completions)]


def brevity(completions, **_):
    """0 for an empty answer, -1 for one at the cap."""
    return [-len(c.split()) / CAP for c in completions]


def trackers(wanted):
    """Those that this release of transformers reports to; none of them is "none"."""
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    return [name for name in wanted if name in INTEGRATION_TO_CALLBACK] or "none"


def train(out: str, steps: int, report_to: list[str]) -> None:
    """One process of the run."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    rows = []
    for i in range(120):
        k = i % len(LEVELS)
        first, second = (7 * i) % WORDS_PER_LEVEL, (11 * i + 3) % WORDS_PER_LEVEL
        prompt = f"Which number follows {first} and {second} ? {LEVELS[k]}"
        rows.append({"prompt": prompt, "level": k, "answer": (first + second) % WORDS_PER_LEVEL})
    tokenizer = build_tokenizer()
    trainer = GRPOTrainer(
        model=build_model(tokenizer),
        reward_funcs=[exact, brevity],
        args=GRPOConfig(
            output_dir=out,
            max_steps=steps,
            logging_steps=1,
            save_steps=steps,
            per_device_train_batch_size=PER_DEVICE_BATCH,
            num_generations=GROUP,
            max_completion_length=CAP,
            reward_weights=REWARD_WEIGHTS,
            learning_rate=1e-4,
            log_completions=True,
            num_completions_to_print=1,
            report_to=trackers(report_to),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            seed=7,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.train()


def make(target: Path, steps: int = STEPS, report_to: tuple[str, ...] = ()) -> None:
    """Run the trainer as a user would, `> stdout.log 2>&1`, and keep what a profiler can read."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    quiet = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    quiet |= {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    quiet |= {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "COLUMNS": "80"}
    quiet |= {
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "TRACKIO_DIR": str(target.resolve() / "trackio"),
    }
    quiet |= {
        "MLFLOW_TRACKING_URI": (target.resolve() / "mlruns").as_uri(),
        "MLFLOW_ALLOW_FILE_STORE": "true",
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(PROCESSES)]
    script = [str(Path(__file__).resolve()), "--train", "out", "--steps", str(steps)]
    done = subprocess.run(
        [*command, *script, "--report-to", *report_to],
        cwd=target,
        env={**os.environ, **quiet},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    log = done.stdout.replace(sys.prefix.encode(), b"/venv")
    (target / "stdout.log").write_bytes(log)
    if done.returncode:
        raise SystemExit(f"the run failed, see {target / 'stdout.log'}")
    checkpoint = target / "out" / f"checkpoint-{steps}"
    keep = {"trainer_state.json", "training_args.bin", "tokenizer.json"}
    for file in checkpoint.iterdir():
        if file.name not in keep:
            file.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--report-to", nargs="*", default=[], help="tensorboard, wandb, trackio, mlflow")
    arguments = parser.parse_args()
    if arguments.train:
        train(str(arguments.target), arguments.steps, arguments.report_to)
    else:
        make(arguments.target, arguments.steps, tuple(arguments.report_to))


if __name__ == "__main__":
    main()
