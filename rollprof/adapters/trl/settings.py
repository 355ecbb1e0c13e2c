"""Settings of a run as its console, its command line and its libraries' banners show them.

Names are TRL's own argument names, whatever printed them: `num_generations`, `max_completion_length`, ….
"""

from __future__ import annotations

import re
from typing import Any

from rollprof.adapters import values

NUMBERS = (
    "num_generations",
    "num_generations_eval",
    "max_completion_length",
    "max_prompt_length",
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
    "gradient_accumulation_steps",
    "steps_per_generation",
    "generation_batch_size",
    "num_iterations",
    "logging_steps",
    "max_steps",
    "vllm_tensor_parallel_size",
    "num_processes",
)
SWITCHES = ("use_vllm", "vllm_enable_sleep_mode", "use_cpu", "log_completions", "mask_truncated_completions")
WORDS = ("vllm_mode", "loss_type", "model_name_or_path")

_NAMES = "|".join((*NUMBERS, *SWITCHES, *WORDS)).replace("_", "[-_]")
_ARGUMENT = re.compile(
    rf"(?:^|(?<=[\s(,]))(?:--)?({_NAMES})(?:\s*[=:]\s*|\s+)['\"]?([\w./+-]+)['\"]?(?=[\s,)\\]|$)"
)
_LAUNCHER = re.compile(r"--(?:num[-_]processes|nproc[-_]per[-_]node)[= ](\d+)")

_BATCHES = (
    (re.compile(r"Instantaneous batch size per device = ([\d,]+)"), "per_device_train_batch_size"),
    (re.compile(r"Total train batch size \([^)]*\) = ([\d,]+)"), "train_batch"),
    (re.compile(r"Gradient Accumulation steps = ([\d,]+)", re.IGNORECASE), "gradient_accumulation_steps"),
    (re.compile(r"Batch size per device = ([\d,]+)"), "per_device_train_batch_size"),
    (re.compile(r"Data Parallel GPUs = ([\d,]+)"), "num_processes"),
    (re.compile(r"Num GPUs used = ([\d,]+)"), "gpus_used"),
    (re.compile(r"\bTotal batch size \([^)]*\) = ([\d,]+)"), "train_batch"),
)
"""The Trainer's own start-up lines, and Unsloth's banner."""

_VERSIONS = (
    (re.compile(r"\bTransformers: (\d[\w.]*?)\.?(?=\s|$)"), "version.transformers"),
    (re.compile(r"\bTRL: (\d[\w.]*?)\.?(?=\s|$)"), "version.trl"),
    (re.compile(r"\bvLLM: (\d[\w.]*?)\.?(?=\s|$)"), "version.vllm"),
    (re.compile(r"\bUnsloth (\d{4}\.[\w.]*?)[:.]?(?=\s|$)"), "version.unsloth"),
    (re.compile(r"\btrl={1,2}(\d[\w.]*?)(?=\s|$)"), "version.trl"),
    (re.compile(r"\btransformers={1,2}(\d[\w.]*?)(?=\s|$)"), "version.transformers"),
    (re.compile(r"Initializing a V\d LLM engine \(v(\d[\w.]*)\)"), "version.vllm"),
)
_SLEEPS = re.compile(r"It took [\d.]+ seconds to (?:fall asleep|wake up)")

_MARKS = (
    *("generation", "completion", "prompt_length", "batch", "Batch", "logging_steps", "logging-steps"),
    *(
        "max_steps",
        "max-steps",
        "iterations",
        "num_processes",
        "num-processes",
        "nproc",
        "use_cpu",
        "use-cpu",
    ),
    *("vllm", "vLLM", "loss_type", "model_name", "GPUs", "Gradient", "Transformers:", "TRL:", "Unsloth"),
    *("trl=", "transformers=", "asleep", "wake up", "engine (v"),
)
"""One of these stands in every line that says a setting: most lines of a log are the policy's text."""


LONGEST_LINE = 20_000


class SettingsReader:
    """Collects settings line by line; `settings` maps argument names to plain values."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def feed(self, text: str) -> None:
        """Take what a line says. Later lines win."""
        if len(text) > LONGEST_LINE or not any(mark in text for mark in _MARKS):
            return
        for name, raw in _ARGUMENT.findall(text):
            self._set(name.replace("-", "_"), raw)
        launcher = _LAUNCHER.search(text)
        if launcher is not None:
            self._set("num_processes", launcher.group(1))
        for pattern, name in _BATCHES:
            found = pattern.search(text)
            if found is not None:
                self.settings[name] = int(found.group(1).replace(",", ""))
        for pattern, name in _VERSIONS:
            found = pattern.search(text)
            if found is not None:
                self.settings[name] = found.group(1)
        if "sleep" in text and _SLEEPS.search(text):
            self.settings["vllm_sleeps"] = True

    def _set(self, name: str, raw: str) -> None:
        if name in NUMBERS:
            value: Any = values.integer(raw)
        elif name in SWITCHES:
            value = values.boolean(raw)
        else:
            value = raw
        if value is not None:
            self.settings[name] = value
