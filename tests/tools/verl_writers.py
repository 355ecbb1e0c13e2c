"""verl's own log writers, taken out of its wheels.

verl itself imports torch, Ray and a dozen more; the functions that write its logs need none of them. So a
wheel is opened as the zip file it is, the few functions wanted are cut out of the source by name and
compiled as they stand. Whatever they write is therefore byte for byte what that release writes.

Needs numpy; orjson for the file logger of verl >= 0.7.1; PyYAML for the configuration.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import heapq
import importlib
import json
import numbers
import os
import pprint
import re
import subprocess
import sys
import types
import typing
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RELEASES = (
    *("0.2", "0.3.0.post1", "0.4.0", "0.4.1", "0.5.0", "0.6.0", "0.6.1"),
    *("0.7.0", "0.7.1", "0.8.0", "0.9.0", "0.9.1"),
)


class NotReached(Exception):
    """The package index did not give the wheel."""


def download(version: str, into: Path) -> Path:
    """The wheel of one release, from `into` where it is there already, else from the package index."""
    into.mkdir(parents=True, exist_ok=True)
    pattern = f"verl-{version}-*.whl"
    if not list(into.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
        command += ["--retries", "1", "--timeout", "20", "--only-binary", ":all:", "-d", str(into)]
        done = subprocess.run([*command, f"verl=={version}"], capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise NotReached(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
    return next(into.glob(pattern))


class Tensor(np.ndarray[Any, Any]):
    """The handful of tensor methods that verl's metric functions call, on a numpy array."""

    @classmethod
    def of(cls, values: Any, dtype: Any = None) -> Tensor:
        """View `values` as one."""
        return np.asarray(values, dtype=dtype).view(cls)

    def detach(self) -> Tensor:
        """Nothing to detach from."""
        return self

    def float(self) -> Tensor:
        """Single precision, as torch has it."""
        return Tensor.of(self, np.float32)

    def bool(self) -> Tensor:
        """As a mask."""
        return Tensor.of(self, np.bool_)

    def numel(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    def size(self, axis: int) -> int:  # type: ignore[override]  # torch's is a method
        """Length of one axis."""
        return int(self.shape[axis])

    def cpu(self) -> Tensor:
        """It is there already."""
        return self


def _torch() -> types.SimpleNamespace:
    def reduction(function: Any) -> Any:
        return lambda x, *axis, **more: Tensor.of(function(np.asarray(x), *axis, **more))

    return types.SimpleNamespace(
        Tensor=Tensor,
        sum=reduction(np.sum),
        mean=reduction(np.mean),
        max=reduction(np.max),
        min=reduction(np.min),
        var=reduction(partial(np.var, ddof=1)),
        eq=lambda a, b: Tensor.of(np.asarray(a) == b),
        masked_select=lambda x, mask: x[mask],
    )


class Wheel:
    """One release of verl, as source to take functions from. `printed`: what they printed."""

    def __init__(self, path: Path) -> None:
        self.version = path.name.split("-")[1]
        self.printed: list[str] = []
        self._zip = zipfile.ZipFile(path)
        self._members = set(self._zip.namelist())

    @property
    def release(self) -> tuple[int, ...]:
        """(0, 7, 1); without post-release parts."""
        return tuple(int(p) for p in self.version.split(".") if p.isdigit())

    def source(self, member: str) -> str:
        """Text of a file below verl/, "" when this release has none."""
        name = f"verl/{member}"
        return self._zip.read(name).decode() if name in self._members else ""

    def take(self, member: str, *names: str, cls: str | None = None, **more: Any) -> dict[str, Any]:
        """The functions and classes `names` of a file (methods of `cls`), compiled as they stand.

        Decorators and annotations are left out, because they name what is not there. Names that the
        release does not have are missing from the result.
        """
        body: list[ast.stmt] = ast.parse(self.source(member)).body
        if cls is not None:
            body = next((n.body for n in body if isinstance(n, ast.ClassDef) and n.name == cls), [])
        picked = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name in names]
        for node in picked:
            _bare(node)
        space: dict[str, Any] = {
            **{module.__name__: module for module in (json, os, numbers, pprint, heapq, copy)},
            "np": np,
            "torch": _torch(),
            "partial": partial,
            "defaultdict": defaultdict,
            **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "Tuple", "Callable")},
            "print": lambda *words, **_: self.printed.append(" ".join(map(str, words))),
            **more,
        }
        with contextlib.suppress(ImportError):
            space["orjson"] = importlib.import_module("orjson")
        exec(compile(ast.Module(list(picked), []), f"verl-{self.version}/{member}", "exec"), space)
        return space


def _bare(node: ast.FunctionDef | ast.ClassDef) -> None:
    node.decorator_list = []
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef):
            part.returns = None
            for argument in (*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs):
                argument.annotation = None


class Writers:
    """What one release writes, by its own code."""

    def __init__(self, wheel: Wheel) -> None:
        self.wheel = wheel
        self._console = wheel.take("utils/logger/aggregate_logger.py", "concat_dict_to_str")
        v1 = "trainer/ppo/v1/trainer_base.py"
        self._v1 = (v1, "PPOTrainer") if wheel.source(v1) else ("trainer/main_ppo_sync.py", "PPOTrainer")

    def console_line(self, metrics: Mapping[str, Any], step: int) -> str:
        """`step:1 - key:value - …`."""
        return str(self._console["concat_dict_to_str"](metrics, step=step))

    @property
    def has_file_logger(self) -> bool:
        """verl >= 0.6.0."""
        return "class FileLogger" in self.wheel.source("utils/tracking.py")

    @contextlib.contextmanager
    def file_logger(self, path: Path) -> Iterator[Any]:
        """Its FileLogger, writing to `path`; `.log(metrics, step)`."""
        before = os.environ.get("VERL_FILE_LOGGER_PATH")
        os.environ["VERL_FILE_LOGGER_PATH"] = str(path)
        logger = self.wheel.take("utils/tracking.py", "FileLogger")["FileLogger"]("project", "experiment")
        try:
            yield logger
        finally:
            logger.finish()
            if before is None:
                del os.environ["VERL_FILE_LOGGER_PATH"]
            else:
                os.environ["VERL_FILE_LOGGER_PATH"] = before

    @property
    def dumps(self) -> bool:
        """verl >= 0.4.0 writes what it generated."""
        return "def _dump_generations" in self.wheel.source("trainer/ppo/ray_trainer.py")

    def dump(
        self,
        folder: Path,
        step: int,
        inputs: Sequence[str],
        outputs: Sequence[str],
        gts: Sequence[Any],
        scores: Sequence[float],
        extras: Mapping[str, Sequence[Any]],
    ) -> None:
        """`{folder}/{step}.jsonl` by the legacy trainer."""
        names = ("_dump_generations", "_write_generations")
        taken = self.wheel.take("trainer/ppo/ray_trainer.py", *names, cls="RayPPOTrainer")
        with ThreadPoolExecutor(1) as executor:
            me = types.SimpleNamespace(
                global_steps=step,
                _dump_executor=executor,
                _dump_futures=[],
                _write_generations=taken.get("_write_generations"),
            )
            function = taken["_dump_generations"]
            known: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "gts": gts, "scores": scores}
            known |= {"reward_extra_infos_dict": dict(extras), "dump_path": str(folder)}
            wanted = function.__code__.co_varnames[1 : function.__code__.co_argcount]
            function(me, **{name: known[name] for name in wanted})
        for future in me._dump_futures:
            future.result()

    @property
    def dumps_v1(self) -> bool:
        """verl >= 0.8.0 has the v1 trainer, whose dumps carry `uid`."""
        return "def _write_generations" in self.wheel.source(self._v1[0])

    def dump_v1(
        self,
        folder: Path,
        step: int,
        inputs: Sequence[str],
        outputs: Sequence[str],
        gts: Sequence[Any],
        scores: Sequence[float],
        extras: Mapping[str, Sequence[Any]],
    ) -> None:
        """`{folder}/{step}.jsonl` by the v1 trainer."""
        member, cls = self._v1
        if f"class {cls}" not in self.wheel.source(member):
            cls = next(
                n.name
                for n in ast.parse(self.wheel.source(member)).body
                if isinstance(n, ast.ClassDef)
                and any(isinstance(f, ast.FunctionDef) and f.name == "_write_generations" for f in n.body)
            )
        function = self.wheel.take(member, "_write_generations", cls=cls)["_write_generations"]
        function(inputs, outputs, gts, scores, dict(extras), str(folder), step)

    def balance(self, workloads: Sequence[int], parts: int) -> list[list[int]]:
        """Its partition of a batch over `parts` data-parallel ranks: lists of row numbers."""
        names = ("karmarkar_karp", "get_seqlen_balanced_partitions")
        taken = self.wheel.take("utils/seqlen_balancing.py", *names)
        found = taken["get_seqlen_balanced_partitions"](list(workloads), k_partitions=parts, equal_size=True)
        return [list(part) for part in found]

    def seqlen_metrics(self, lengths: Sequence[int], partitions: list[list[int]]) -> dict[str, Any]:
        """`global_seqlen/*`."""
        taken = self.wheel.take("utils/seqlen_balancing.py", "log_seqlen_unbalance")
        return dict(taken["log_seqlen_unbalance"](list(lengths), partitions, "global_seqlen"))

    def request_timing(self, requests: Sequence[Mapping[str, float]], batch: Batch) -> dict[str, Any]:
        """`agent_loop/*` of `timing_s` (verl >= 0.5.0, else empty): one mapping per request."""
        member = "experimental/agent_loop/agent_loop.py"
        taken = self.wheel.take(member, "_performance_metrics", cls="AgentLoopManager")
        if "_performance_metrics" not in taken:
            return {}
        return dict(taken["_performance_metrics"](None, [list(requests)], batch))

    def data_metrics(self, batch: Batch) -> dict[str, Any]:
        """`critic/*`, `response_length/*`, `prompt_length/*`, …"""
        return dict(self._metric("compute_data_metrics")(batch=batch, use_critic=False))

    def timing_metrics(self, batch: Batch, timing: Mapping[str, Any]) -> dict[str, Any]:
        """`timing_s/*` and `timing_per_token_ms/*`."""
        return dict(self._metric("compute_timing_metrics")(batch=batch, timing_raw=dict(timing)))

    def throughput_metrics(self, batch: Batch, timing: Mapping[str, Any], gpus: int) -> dict[str, Any]:
        """`perf/*` (verl >= 0.3.0, else empty)."""
        function = self._metric("compute_throughout_metrics")
        return dict(function(batch=batch, timing_raw=dict(timing), n_gpus=gpus)) if function else {}

    def _metric(self, name: str) -> Any:
        names = ("_compute_response_info", name)
        member = "trainer/ppo/metric_utils.py"
        if not self.wheel.source(member):
            member = "trainer/ppo/ray_trainer.py"
        return self.wheel.take(member, *names).get(name)

    def config(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """Its default configuration, resolved, with `overrides` by dotted path."""
        yaml = importlib.import_module("yaml")
        for member in ("trainer/config/_generated_ppo_trainer.yaml", "trainer/config/ppo_trainer.yaml"):
            if text := self.wheel.source(member):
                tree = yaml.safe_load(text)
                break
        for path, value in overrides.items():
            *folders, last = path.split(".")
            node = tree
            for folder in folders:
                node = node.setdefault(folder, {})
            node[last] = value
        resolved = _Resolver(tree).resolve(tree, ())
        assert isinstance(resolved, dict)
        return resolved


class Batch:
    """A training batch as verl's metric functions see it: padded arrays of one row per response."""

    def __init__(
        self,
        prompt_tokens: Sequence[int],
        response_tokens: Sequence[int],
        scores: Sequence[float],
        advantages: Sequence[float],
        widths: tuple[int, int],
    ) -> None:
        prompt_width, response_width = widths
        prompts = np.asarray(prompt_tokens)[:, None]
        responses = np.asarray(response_tokens)[:, None]
        left = np.arange(prompt_width)[None, :] >= prompt_width - prompts
        mask = np.arange(response_width)[None, :] < responses
        last = np.arange(response_width)[None, :] == responses - 1
        level = Tensor.of(np.where(last, np.asarray(scores)[:, None], 0.0), np.float32)
        spread = Tensor.of(np.where(mask, np.asarray(advantages)[:, None], 0.0), np.float32)
        attention = np.concatenate([left, mask], axis=1).astype(np.int64)
        self.batch: dict[str, Tensor] = {
            "prompts": Tensor.of(left, np.int64),
            "responses": Tensor.of(mask, np.int64),
            "attention_mask": Tensor.of(attention),
            "response_mask": Tensor.of(mask, np.int64),
            "token_level_scores": level,
            "token_level_rewards": level,
            "advantages": spread,
            "returns": spread,
        }
        self.non_tensor_batch = {"__num_turns__": np.full(len(mask), 2, dtype=np.int32)}
        self.meta_info = {"global_token_num": attention.sum(-1).tolist()}


class _Resolver:
    """`${a.b}`, `${.sibling}` and `${oc.select:path,default}` of a configuration, nothing more."""

    _inner = re.compile(r"\$\{([^${}]*)\}")

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def resolve(self, node: Any, at: tuple[str, ...]) -> Any:
        """`node` with everything in it replaced; `at` is the path of its parent."""
        if isinstance(node, dict):
            return {key: self.resolve(value, (*at, str(key))) for key, value in node.items()}
        if isinstance(node, list):
            return [self.resolve(value, at) for value in node]
        while isinstance(node, str) and (found := self._inner.search(node)):
            value = self._value(found.group(1).strip(), at)
            if found.group(0) == node:
                return value if not isinstance(value, str | dict | list) else self.resolve(value, at)
            node = node[: found.start()] + _text(value) + node[found.end() :]
        return node

    def _value(self, word: str, at: tuple[str, ...]) -> Any:
        if word.startswith("oc.select:"):
            path, _, default = word.removeprefix("oc.select:").partition(",")
            found = self._find(path.strip().split("."))
            if found is not None:
                return self.resolve(found, tuple(path.strip().split(".")))
            return _literal(default.strip())
        if word.startswith("."):
            dots = len(word) - len(word.lstrip("."))
            path_parts = [*at[: len(at) - dots], *word.lstrip(".").split(".")]
        else:
            path_parts = word.split(".")
        return self.resolve(self._find(path_parts), tuple(path_parts))

    def _find(self, path: Sequence[str]) -> Any:
        node = self.tree
        for part in path:
            if not isinstance(node, dict) or part not in node:
                return None
            node = node[part]
        return node


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def _literal(word: str) -> Any:
    named = {"null": None, "": None, "true": True, "false": False, "True": True, "False": False}
    if word in named:
        return named[word]
    with contextlib.suppress(ValueError, SyntaxError):
        return ast.literal_eval(word)
    return word
