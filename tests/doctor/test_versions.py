"""Whether a release has an option: spans by hand."""

from __future__ import annotations

import pytest

from rollprof.doctor.versions import fits, released_in, spelled, written_by


@pytest.mark.parametrize(
    ("words", "version", "expected"),
    [
        ("0.4.0 and later", "0.9.1", "yes"),
        ("0.4.0 and later", "0.3.0.post1", "no"),
        ("0.4.0 and later", ">=0.2,<0.4", "no"),
        ("0.4.0 and later", ">=0.2,<0.5", "unknown"),
        ("0.4.0 and later", ">=0.2", "unknown"),
        ("0.4.0 and later", None, "unknown"),
        ("0.4.1 to 0.6.1", ">=0.8", "no"),
        ("0.4.1 to 0.6.1", "0.6.1", "yes"),
        ("0.4.1 to 0.6.1", "0.6.2", "no"),
        ("GRPO 0.28 and later", "1.16.0", "yes"),
        ("GRPO 0.28 and later", "0.19.1", "no"),
        ("timing_s/update_weights since 0.7.1", "0.8", "unknown"),
        ("since 0.9.1", "0.11.2", "yes"),
        ("0.9.0", "0.9.0", "yes"),
        ("0.9.0", "0.9.1", "no"),
        ("0.9.0", "0.9", "unknown"),
        ("all releases", None, "yes"),
        ("wandb 0.16, mlflow 0.18 and later", "1.0.0", "unknown"),
    ],
)
def test_whether_a_release_has_it(words: str, version: str | None, expected: str) -> None:
    assert fits(words, version) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (">=0.10.2", "train.async_enable"),
        (">=0.8.3,<0.9.1", "--async_train"),
        ("0.10.1", "--async_train"),
        (">=0.9.8", "train.async_enable (--async_train until 0.10.1)"),
        (None, "train.async_enable (--async_train until 0.10.1)"),
    ],
)
def test_the_spelling_of_the_release(version: str | None, expected: str) -> None:
    assert spelled("train.async_enable (--async_train until 0.10.1)", version) == expected


def test_two_options_with_two_spellings() -> None:
    option = "eval.dataset and eval.steps (--eval_dataset, --eval_steps until 0.10.1)"
    assert spelled(option, "0.9.5") == "--eval_dataset, --eval_steps"
    assert spelled(option, "0.11.2") == "eval.dataset and eval.steps"


def test_what_is_no_version_is_unknown() -> None:
    assert written_by("main") is None
    assert released_in("a newer one") is None
    assert spelled("trainer.logger=['console']", "0.9") == "trainer.logger=['console']"


def test_every_release_note_of_the_adapters_is_understood_or_said_to_be_unknown() -> None:
    from rollprof.adapters import registry

    words = {b.releases for name in registry.names() for b in registry.load(name).brings.values()}
    understood = {w for w in words if w and released_in(w) is not None}
    assert len(understood) >= 0.6 * len(words - {""})
