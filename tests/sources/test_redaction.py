"""Keys and tokens never get past the sources."""

from __future__ import annotations

import pytest

from rollprof.sources.redaction import is_secret, without_secrets

HEX = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hub_token", "anything"),
        ("trainer.wandb_api_key", "x"),
        ("openai/api_key", "x"),
        ("model.password", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("client_secret", "x"),
        ("github_token", "x"),
        ("note", "my hf_abcdefghijklmnopqrstuvwxyz"),
        ("note", "sk-abcdefghijklmnop1234"),
        ("use_wandb", HEX),
        ("remote_rm_url", "http://user:pass@host/rm"),
        ("key", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_what_looks_like_a_secret(name: str, value: str) -> None:
    assert is_secret(name, value)
    assert without_secrets({"a": {"b": [{name: value}]}, name: value}) == {"a": {"b": [{}]}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_new_tokens", 1024),
        ("tokens", "a"),
        ("eos_token_id", 2),
        ("num_input_tokens_seen", 10),
        ("token", 5),
        ("hub_token", None),
        ("tokenizer", "Qwen/Qwen2"),
        ("mask_token", True),
        ("remote_rm_url", "http://host:5000/rm"),
        ("pad_token", 0),
        ("loss_type", "dapo"),
    ],
)
def test_what_does_not(name: str, value: object) -> None:
    assert without_secrets({name: value}) == {name: value}


def test_secrets_in_lists_go_alone() -> None:
    assert without_secrets({"args": ["--n", "8", HEX]}) == {"args": ["--n", "8"]}
