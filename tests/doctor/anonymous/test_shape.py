"""A sample is the log in everything but its text: structure, keys, numbers, shapes, damage."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.doctor.anonymous.lines import mask_line
from rollprof.doctor.anonymous.masking import Masks
from rollprof.doctor.anonymous.quoted import mask_json
from rollprof.doctor.anonymous.vocabulary import is_harmless, is_key

MASKS = Masks(b"\x07" * 32)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """What a mask keeps of a value: kinds, sizes, numbers."""
    if isinstance(value, dict):
        return [(len(key), shape(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return len(value) if isinstance(value, str) else value


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["input", "score", "step", "extra", "reward"]), values), st.booleans())
def test_json_keeps_its_shape(record: dict[str, Any], ascii_only: bool) -> None:
    written = json.dumps(record, ensure_ascii=ascii_only)
    masked = mask_json(written, MASKS)
    read = json.loads(masked)
    if len({*map(str, read)}) == len(record):
        assert shape(read) == shape(record)
    assert set(read) == set(record)


@settings(deadline=None)
@given(texts)
def test_text_keeps_its_length_and_its_blanks(text: str) -> None:
    masked = MASKS.text(text)
    assert len(masked) == len(text)
    assert [c for c in masked if c.isspace()] == [c for c in text if c.isspace()]
    assert MASKS.text(text) == masked


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[a-z]{9,14}", fullmatch=True), min_size=1, max_size=8))
def test_prose_is_gone(words: list[str]) -> None:
    prose = " ".join(words)
    kept = {w for w in words if w in mask_line(prose, MASKS)}
    assert kept == set()


@settings(deadline=None)
@given(st.text(max_size=120), st.booleans())
def test_any_line_keeps_its_length(line: str, yaml: bool) -> None:
    assert len(mask_line(line, MASKS, yaml=yaml)) == len(line)


@settings(deadline=None)
@given(st.text(max_size=160))
def test_any_damage_keeps_its_length(text: str) -> None:
    assert len(mask_json('{"a": ' + text, MASKS)) <= len(text) + 6


def test_a_half_line_stays_one() -> None:
    line = '{"input": "secret words", "output": "more of th'
    masked = mask_json(line, MASKS)
    assert len(masked) == len(line)
    assert masked.startswith('{"input": "')
    assert masked.count('"') == line.count('"')
    assert "secret" not in masked


def test_escapes_count_as_one_character() -> None:
    written = '{"output": "a\\n\\u00e9\\ud83d\\ude00\\"b\\u0041"}'
    masked = mask_json(written, MASKS)
    assert len(json.loads(masked)["output"]) == len(json.loads(written)["output"]) == 7
    assert json.loads(masked)["output"][1] == "\n"


def test_equal_texts_stay_equal_and_different_ones_different() -> None:
    one, two = MASKS.text("What is 1 + 1?"), MASKS.text("What is 1 + 2?")
    assert one == MASKS.text("What is 1 + 1?")
    assert one != two


def test_chat_marks_stay() -> None:
    masked = MASKS.text("<|im_start|>user\nHello<|im_end|>")
    assert masked.startswith("<|im_start|>")
    assert masked.endswith("<|im_end|>")
    assert "Hello" not in masked


def test_identities_keep_the_count_of_samples() -> None:
    masked = MASKS.identity("00000000-0000-4000-8000-000001000000_3_0")
    assert masked.endswith("_3_0")
    assert not masked.startswith("00000000")
    assert MASKS.identity("pad0af_1_1").startswith("pad")


STEP = "(TaskRunner pid=7, ip=10.1.2.3) step:12 - actor/pg_loss:-0.25 - timing_s/gen:12.5 - val/a@1:nan"


def test_step_lines_stay() -> None:
    masked = mask_line(STEP, MASKS)
    assert masked.partition(") ")[2] == STEP.partition(") ")[2]
    assert "10.1.2.3" not in masked


def test_lines_of_frameworks_stay() -> None:
    for line in (
        "INFO 11-30 21:04:55 ppo_trainer.py:551] ✨ Global step 1: "
        "{'kl': 0.0, 'timing/generation': 2.09, 'x': None}",
        "{'loss': '0.1', 'completions/mean_length': '46.75', 'rewards/exact/mean': 0.5, 'epoch': '0.1'}",
        "Generate samples:  62%|██████▎   | 5/8 [00:03<00:02,  1.47it/s, prompts_consumed=17]",
        "INFO 11-30 21:04:55 [loggers.py:127] Engine 000: Avg prompt throughput: 10.5 tokens/s, "
        "Avg generation throughput: 250.1 tokens/s, Running: 3 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 12.5%, Prefix cache hit rate: 0.0%",
        "namespace(ref=namespace(num_nodes=1, offload=False), data=namespace(max_len=2048))",
        "🚀 Starting experience making with 32 samples",
    ):
        assert mask_line(line, MASKS) == line


def test_numbers_in_prose_do_not() -> None:
    assert mask_line("card 4929123412341234", MASKS)[5:] != "4929123412341234"
    assert mask_line("(TaskRunner pid=1) 4929123412341234", MASKS)[-16:] != "4929123412341234"


def test_what_is_a_key() -> None:
    assert all(is_key(k) for k in ("loss", "val-core/openai/gsm8k/acc/mean@1", "rollout.n", "timing_s/gen"))
    assert all(is_key(k) for k in ("profiling/Time taken: GRPOTrainer.vLLM.generate", "__index_level_0__"))
    private = ("my prompt", "alice@corp.example", "/home/alice/x", "data/home/alice/x", "a" * 81)
    assert not any(is_key(k) for k in (*private, "hf_abcdefghijklmnopqrstuvwxyz", "x/9f8e7d6c5b4a39281706f"))


def test_what_is_harmless() -> None:
    assert all(is_harmless(v) for v in ("0.5", "vllm", "1e-6", "2026-01-01T00:00:00Z", "1.16.0", "True", ""))
    assert not any(is_harmless(v) for v in ("Marmalade", "1 + 1", "qwen", "v", "12 monkeys"))
