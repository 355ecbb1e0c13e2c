"""What is known to be harmless: words that settings take, keys that look like keys, names of log files."""

from __future__ import annotations

import re

from rollprof.sources.redaction import is_secret

_VALUES = """
    true false none null nan inf infinity auto default yes no on off
    vllm sglang hf transformers trl verl openrlhf unsloth swift generic
    sync async fsdp fsdp2 megatron deepspeed ddp ray ray_job torchrun accelerate
    grpo gae ppo rloo reinforce reinforce_baseline remax dr_grpo drgrpo gspo cispo dapo dr_dapo opo
    group_norm reinforce_plus_plus bnpo token seq sequence token_mean token-mean seq-mean-token-sum
    train eval test val validation rollout rollouts
    user assistant system tool function environment
    stop length eos abort aborted cancelled error timeout tool_calls finished completed running failed
    bfloat16 float16 float32 bf16 fp16 fp32 fp8 int8 half
    cuda cpu gpu npu nccl gloo hybrid colocate server sleep
    adamw adamw_torch adamw_torch_fused adam sgd linear cosine constant constant_with_warmup
    tensorboard wandb mlflow swanlab trackio console file
    steps step epoch epochs no_eval best min max mean sum last first
    scaled exact characters naive batch prime legacy v1 fully-async one-step-off
    separate separate_async colocated standalone left right low high medium
"""
VALUES = frozenset(_VALUES.split())
"""Settings and states by name, in lower case: they decide how a log is read."""

TEXT_KEYS = re.compile(
    r"(?:[^/]*\.)?(?:prompts?|inputs?|outputs?|responses?|completions?|questions?|answers?|query|queries|"
    r"solutions?|ground_truths?|gts?|labels?|targets?|messages?|content|text|texts|instruction|reasoning|"
    r"generations?|generated_text|observations?|feedback|comment|description|env_extras|request_info)",
    re.IGNORECASE,
)
"""Keys of text: what stands there is replaced even where it looks harmless. A metric's key has a slash."""

ANSWER_KEYS = re.compile(
    r"(?:[^/]*\.)?(?:answers?|solutions?|ground_truths?|gts?|labels?|targets?|phone|ssn)", re.IGNORECASE
)
"""Keys under which a bare number is somebody's data."""

TOKEN_KEYS = re.compile(r"(?:token|_ids?$|^ids$|input|prompt|response|completion|output)", re.IGNORECASE)
"""Keys of lists of token ids: who has the tokenizer can read them."""

NUMBER = re.compile(
    r"[-+]?(?:\d[\d,_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|infinity)%?", re.IGNORECASE
)
_WRAPPED = re.compile(rf"(?:np|numpy|torch)\.\w+\({NUMBER.pattern}\)", re.IGNORECASE)
VERSION = re.compile(r"v?\d{1,4}(?:\.\d{1,6}){1,2}(?!\.\d)(?:[.+]?(?:post|rc|dev|a|b|cpu|cu)\d{0,4})?")
CLOCK = re.compile(
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
    r"|(?:\d{1,6}:)?\d{1,2}:\d\d"
)
_KEY = re.compile(
    r"[A-Za-z_][\w.-]{0,79}(?:/[\w.%()-]{1,80}){0,8}(?:@\d{1,6}(?:/[a-z]{1,8})?)?"
    r"|profiling/Time taken: [\w.]{1,80}"
)
_ROOTS = re.compile(r"(?:^|/)(?:home|Users|root|mnt|data|workspace|scratch|tmp|var|opt|nfs|gpfs)/")
_LONG = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]{20,}")
"""A word of letters and digits as long as keys and tokens are."""

_NAMES = """
    rollouts rollout rollout_data dump dumps data completions completion checkpoint checkpoints global step
    out output outputs log logs train training eval val validation stdout stderr console metrics trainer
    state trainer_state train_results all_results args arguments config configs overrides hydra readme
    requirements run runs wandb mlruns tensorboard tb files summary media table history worker driver
    job rank result results samples generations events server vllm sglang prometheus metadata meta
    jsonl json log txt out err md yaml yml parquet csv tsv prom
"""
_NAME_WORDS = frozenset(_NAMES.split())
_PIECES = re.compile(r"([A-Za-z]+|\d+)")


def is_harmless(value: str) -> bool:
    """A setting, a number, a release or a time: no text."""
    bare = value.strip()
    return not bare or (
        bare.lower() in VALUES
        or NUMBER.fullmatch(bare) is not None
        or _WRAPPED.fullmatch(bare) is not None
        or VERSION.fullmatch(bare) is not None
        or CLOCK.fullmatch(bare) is not None
    )


def is_key(key: str) -> bool:
    """Whether this names something in a log, rather than being data in the place of a name."""
    return (
        len(key) <= 200
        and _KEY.fullmatch(key) is not None
        and _ROOTS.search(key) is None
        and _LONG.search(key) is None
        and not is_secret("", key)
    )


def holds_text(key: str) -> bool:
    """Whether what stands under this key is to be replaced in any case."""
    return TEXT_KEYS.fullmatch(key) is not None or is_secret(key, "x")


def holds_data(key: str) -> bool:
    """Whether a bare number under this key is to be replaced."""
    return ANSWER_KEYS.fullmatch(key) is not None or is_secret(key, "x")


def is_name_word(word: str) -> bool:
    """A word, or a number, that names of log files are made of."""
    return word.lower() in _NAME_WORDS or (word.isdigit() and len(word) <= 9)


def words_of(segment: str) -> list[str]:
    """The letters, the digits and what stands between them, in order."""
    return [piece for piece in _PIECES.split(segment) if piece]
