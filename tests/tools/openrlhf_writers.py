"""OpenRLHF's own log writers, taken out of its wheels.

`utils/logging_utils.py` (the console format, the loggers of wandb and TensorBoard) imports neither torch nor
Ray at its top, so it is run as it stands; the call that logs a step is cut out of the trainer and compiled
under the trainer's file name. Only torch's `SummaryWriter` is stood in for, on tensorboard's event writer.

Needs tensorboard for TensorBoard and wandb for wandb.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RELEASES = ("0.8.11", "0.9.5", "0.9.10", "0.10.4", "0.11.2")
WITH_LOGGERS = RELEASES[1:]
"""Before 0.9.1 wandb and TensorBoard are written inside the trainer."""
RUN = "ppo_0101T00:00"


class NotReached(Exception):
    """The package index did not give the wheel."""


def download(version: str, into: Path) -> Path:
    """The wheel of one release, from `into` where it is there already. It is for Python 3.11 on Linux, and
    only opened as the zip file that it is."""
    into.mkdir(parents=True, exist_ok=True)
    pattern = f"openrlhf-{version}-*.whl"
    if not list(into.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
        command += ["--retries", "1", "--timeout", "20", "--only-binary", ":all:", "-d", str(into)]
        command += ["--python-version", "3.11", "--abi", "cp311", "--platform", "manylinux1_x86_64"]
        done = subprocess.run([*command, f"openrlhf=={version}"], capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise NotReached(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")
    return next(into.glob(pattern))


class SummaryWriter:
    """torch.utils.tensorboard's, for scalars and texts."""

    def __init__(self, log_dir: str) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._file = EventFileWriter(log_dir)

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self._add(step, tag=tag, simple_value=float(value))

    def add_text(self, tag: str, text: str, step: int) -> None:
        from tensorboard.compat.proto import summary_pb2, tensor_pb2, tensor_shape_pb2

        shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
        tensor = tensor_pb2.TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape)
        plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
        metadata = summary_pb2.SummaryMetadata(plugin_data=plugin)
        self._add(step, tag=f"{tag}/text_summary", tensor=tensor, metadata=metadata)

    def _add(self, step: int, **value: Any) -> None:
        import time

        from tensorboard.compat.proto import event_pb2, summary_pb2

        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(**value)])
        self._file.add_event(event_pb2.Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        self._file.close()


class Writers:
    """The writers of one wheel. `console` collects what the process would print."""

    def __init__(self, wheel: Path, version: str) -> None:
        self.version = tuple(int(n) for n in version.split("."))
        self.console = io.StringIO()
        with zipfile.ZipFile(wheel) as archive:
            utils = _read(archive, "openrlhf/utils/logging_utils.py")
            trainer = _read(archive, "openrlhf/trainer/ppo_trainer.py")
        self.module = types.ModuleType("openrlhf_logging_utils")
        with contextlib.redirect_stdout(self.console):
            exec(compile(utils, "logging_utils.py", "exec"), self.module.__dict__)
        self._logger = self.module.init_logger(f"openrlhf.trainer.ppo_trainer.{id(self)}")
        self._step_line = _step_line(trainer)

    def arguments(self, flat: Mapping[str, Any], nested: Mapping[str, Any]) -> Any:
        """What the command line parses to in this release: nested from 0.10.2 on."""
        return _namespace(nested) if self.version >= (0, 10, 2) else argparse.Namespace(**flat)

    def log_step(self, step: int, status: Mapping[str, Any]) -> None:
        """The step's line, by the trainer's own call."""
        known = dict(status)
        names = {"global_step": step, "steps": step, "status": known, "log_status": known}
        with contextlib.redirect_stdout(self.console):
            exec(self._step_line, {"logger": self._logger, **names})

    @contextlib.contextmanager
    def tracked(self, logger: str, arguments: Any) -> Iterator[Any]:
        """`TensorboardLogger` or `WandbLogger` of the wheel, closed at the end."""
        torch = types.ModuleType("torch.utils.tensorboard")
        torch.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
        before = {n: sys.modules.get(n) for n in ("torch", "torch.utils", "torch.utils.tensorboard")}
        sys.modules.update({n: types.ModuleType(n) for n in before if sys.modules.get(n) is None})
        sys.modules["torch.utils.tensorboard"] = torch
        try:
            writer = getattr(self.module, logger)(arguments)
        finally:
            for name, module in before.items():
                if module is None:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = module
        try:
            yield writer
        finally:
            writer.close()


def _read(archive: zipfile.ZipFile, name: str) -> str:
    """A module's source; some wheels keep theirs under `*.data/purelib`."""
    return archive.read(next(n for n in archive.namelist() if n.endswith(name))).decode()


def _namespace(values: Mapping[str, Any]) -> types.SimpleNamespace:
    made = {k: _namespace(v) if isinstance(v, Mapping) else v for k, v in values.items()}
    return types.SimpleNamespace(**made)


def _step_line(source: str) -> types.CodeType:
    """The statement of the trainer that logs a step, under the trainer's file name and line."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) == "logger.info"
            and "Global step" in ast.unparse(node.value)
        ):
            return compile(ast.Module([node], []), "ppo_trainer.py", "exec")
    raise LookupError("no call that logs a step")


def main() -> None:
    """One logger in a process of its own, since wandb keeps its settings for the life of a process.

    Reads JSON: `wheel`, `version`, `logger`, `flat` and `nested` arguments, `steps` as [step, status] pairs,
    `evaluation` as another.
    """
    spec = json.load(sys.stdin)
    writers = Writers(Path(spec["wheel"]), spec["version"])
    with writers.tracked(spec["logger"], writers.arguments(spec["flat"], spec["nested"])) as sink:
        for step, status in spec["steps"]:
            sink.log_train(step, status)
        sink.log_eval(*spec["evaluation"])


if __name__ == "__main__":
    main()
