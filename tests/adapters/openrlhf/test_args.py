from __future__ import annotations

import math

from rollprof.adapters.openrlhf.args import begins, continues, parse_args, unclosed

FLAT = (
    "Namespace(actor_num_nodes=1, actor_num_gpus_per_node=2, vllm_num_engines=2, colocate_all_models=True, "
    "rollout_batch_size=8, n_samples_per_prompt=4, prompt_max_len=64, generate_max_len=900, "
    "init_kl_coef=0.0, remote_rm_url=['reward.py'], use_wandb='0123456789abcdef', max_samples=100000000.0, "
    "eps_clip_low_high=(0.2, 0.2), pretrain='my, model (7b)', agent_func_path=None)"
)
NESTED = (
    "namespace(actor=namespace(num_nodes=1, num_gpus_per_node=2, adam=namespace(lr=1e-06, "
    "betas=(0.9, 0.95)), model_name_or_path='tok'), vllm=namespace(num_engines=2, tensor_parallel_size=1), "
    "ckpt=namespace(max_mem=inf), logger=namespace(wandb=namespace(key='secret', run_name='ppo')), "
    "rollout=namespace(batch_size=8, max_new_tokens=900, max_tokens_per_gpu=None), use_ms=False)"
)


def test_flat_names_become_the_newer_ones() -> None:
    args = parse_args(FLAT)
    assert not args.nested
    assert args.settings["actor.num_gpus_per_node"] == 2
    assert args.settings["train.colocate_all"] is True
    assert args.settings["rollout.max_new_tokens"] == 900
    assert args.settings["reward.remote_url"] == ["reward.py"]
    assert args.settings["actor.model_name_or_path"] == "my, model (7b)"
    assert args.settings["eps_clip_low_high"] == (0.2, 0.2)
    assert args.settings["train.agent_func_path"] is None
    assert "generate_max_len" in args.names


def test_nested() -> None:
    args = parse_args(NESTED)
    assert args.nested
    assert args.settings["actor.adam.betas"] == (0.9, 0.95)
    assert args.settings["actor.model_name_or_path"] == "tok"
    assert args.settings["ckpt.max_mem"] == math.inf
    assert args.settings["rollout.batch_size"] == 8
    assert args.settings["rollout.max_tokens_per_gpu"] is None
    assert args.settings["use_ms"] is False


def test_keys_of_trackers_are_left_out() -> None:
    for text in (FLAT, NESTED):
        settings = parse_args(text).settings
        assert not any("0123456789" in str(v) or v == "secret" for v in settings.values())
        assert "rollout.max_new_tokens" in settings  # a token of another kind


def test_line_cut_in_a_value() -> None:
    settings = parse_args(NESTED[: NESTED.index("num_engines=2") + len("num_engines=")]).settings
    assert settings["actor.num_nodes"] == 1
    assert "vllm.num_engines" not in settings
    assert parse_args("Namespace(a='never closed").settings == {}


def test_what_is_no_literal_stays_text() -> None:
    assert parse_args("Namespace(dtype=torch.bfloat16, n=2)").settings == {"dtype": "torch.bfloat16", "n": 2}


def test_wrapped_lines() -> None:
    assert begins(FLAT)
    assert not unclosed(FLAT)
    assert unclosed(FLAT[:200])
    assert continues(FLAT[200:])
    assert not begins("the Namespace(actor=1) is printed")


def test_depth_and_size_are_bounded() -> None:
    deep = "namespace(" + "a=namespace(" * 5000 + "b=1" + ")" * 5000
    assert len(parse_args(deep).settings) <= 1
    assert parse_args("namespace(a=" + "(" * 100_000).settings == {}
