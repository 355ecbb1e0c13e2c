"""What is installed is what is in the repository: nothing forgotten, nothing that does not belong there."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the tracked files without reaching for the network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.ZipFile(next(out.glob("rollprof-*.whl")))


def tracked(root: Path) -> set[str]:
    """Package files that git knows."""
    command = [
        "git",
        "-C",
        str(root),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "rollprof",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return {name for name in done.stdout.split("\0") if name and (root / name).exists()}


def test_wheel_holds_exactly_the_package(root: Path, wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == tracked(root)
    assert "rollprof/py.typed" in packed


def test_wheel_describes_itself(wheel: zipfile.ZipFile) -> None:
    info = next(name for name in wheel.namelist() if name.endswith("METADATA")).removesuffix("METADATA")
    metadata = message_from_string(wheel.read(info + "METADATA").decode())
    assert metadata["Name"] == "rollprof"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert set(metadata.get_all("Provides-Extra", [])) >= {"tokens", "zstd", "remote", "ray", "dev"}
    entries = configparser.ConfigParser()
    entries.read_string(wheel.read(info + "entry_points.txt").decode())
    assert entries["console_scripts"]["rollprof"] == "rollprof.cli.app:main"
    packed = set(wheel.namelist())
    for target in entries["rollprof.adapters"].values():
        path = target.split(":")[0].replace(".", "/")
        assert {f"{path}.py", f"{path}/__init__.py"} & packed, target
