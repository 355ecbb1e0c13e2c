"""What the user pointed at -> files, each looked at once: files, folders, globs, pipes, standard input."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rollprof.errors import InputProblem, UsageProblem
from rollprof.schema.tables import ROLLOUTS, STEPS
from rollprof.sources.databases import SHM, WAL
from rollprof.sources.mlflow import ANCHOR, is_run_folder
from rollprof.sources.opening import spool, spool_stdin
from rollprof.sources.records import SniffedFile
from rollprof.sources.searching import search_text
from rollprof.sources.sniffing import keys_of, sniff

MANY = 200
FEW_OBJECTS = 4
"""Objects that are kept of each file where there are many: a dump may have tens of thousands."""

SETTINGS_FOLDERS = (".hydra",)
"""Hidden folders that hold the settings of a run."""

STDIN = "-"
STDIN_NAME = "standard-input"

_DIGITS = re.compile(r"(\d+)")
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//).*(?=@)|(?<=\?).*", re.DOTALL)
"""Of an address: user and password, which may hold any sign unquoted, and what follows a question mark, where
signatures stand. Rather too much than too little."""

NaturalKey = tuple[tuple[int, int, str], ...]


def find_files(arguments: Sequence[str]) -> list[SniffedFile]:
    """Every file that the arguments lead to, looked at, in natural order (2.jsonl before 10.jsonl).

    A folder is searched through; hidden files and folders and datasets of rollprof inside it are passed
    over, links are followed once. `name` of a file is its path below the folder given, or what the user
    wrote; where two would be the same, more of the path is shown. A file that cannot be read comes back
    as `binary` with the reason under metadata["problem"]. Raises InputProblem for an argument that leads
    nowhere.
    """
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for argument in arguments:
        for path, name in _of_argument(argument):
            info = Path(path).stat()
            found.setdefault((info.st_dev, info.st_ino), (path, name))
    files = [_sniff(path, _printable(name)) for path, name in _distinct(list(found.values()))]
    if len(files) <= MANY:
        return files
    return [replace(file, objects=file.objects[:FEW_OBJECTS]) for file in files]


def stamps(arguments: Sequence[str]) -> frozenset[tuple[str, int, int, int]]:
    """(path, size, time of change in ns, inode) of every file that the arguments lead to now, none of them
    opened. Empty where an argument leads nowhere yet. Raises UsageProblem for what cannot be looked at twice.
    """
    found = set()
    for argument in arguments:
        path = Path(argument).expanduser()
        if argument == STDIN or (path.exists() and not (path.is_dir() or path.is_file())):
            raise UsageProblem(f"{argument} can be read only once", hint="--follow takes files and folders")
        try:
            for name, _ in _of_argument(argument):
                info = Path(name).stat()
                found.add((name, info.st_size, info.st_mtime_ns, info.st_ino))
        except FileNotFoundError:
            continue  # gone while we looked
        except InputProblem:
            if _REMOTE.match(argument):
                raise
    return frozenset(found)


def natural_key(path: str) -> tuple[NaturalKey, ...]:
    """Sort key by which numbers in names count as numbers, folder by folder."""
    return tuple(_natural(part) for part in path.replace(os.sep, "/").split("/"))


def _natural(part: str) -> NaturalKey:
    pieces = (p for p in _DIGITS.split(part) if p)
    return tuple((0, int(p), p) if p.isascii() and p.isdigit() else (1, 0, p) for p in pieces)


def _printable(name: str) -> str:
    """A file's name may hold bytes that are no UTF-8; what is shown and stored may not."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _of_argument(argument: str) -> Iterator[tuple[str, str]]:
    """(path, name) of the files that one argument means."""
    path = Path(argument).expanduser()
    if argument == STDIN:
        yield spool_stdin(), STDIN_NAME
    elif path.is_dir():
        yield from _in_folder(path)
    elif path.exists():
        yield _lone(path, argument)
    else:
        yield from _of_pattern(argument)


def _of_pattern(argument: str) -> Iterator[tuple[str, str]]:
    if _REMOTE.match(argument):
        shown = _CREDENTIALS.sub("***", argument)
        raise InputProblem(f"cannot read {shown}: not a local path", hint="copy it here first")
    if not glob.has_magic(argument):
        raise InputProblem(f"{argument}: no such file or directory")
    pattern = str(Path(argument).expanduser())
    matches = sorted(glob.glob(pattern, recursive=True), key=natural_key)  # noqa: PTH207
    if not matches:
        raise InputProblem(f"{argument}: no file matches")
    for match in matches:
        path = Path(match)
        if not path.is_dir():
            yield _lone(path, match)
        elif not argument.endswith("**"):  # `**` lists the folders it walks through as well
            yield from ((p, f"{path.name}/{n}") for p, n in _in_folder(path))


def _lone(path: Path, shown: str) -> tuple[str, str]:
    if not stat.S_ISREG(path.stat().st_mode):
        try:
            with path.open("rb") as pipe:
                return spool(pipe), shown
        except OSError as error:
            raise InputProblem(f"cannot read {shown}: {error.strerror or error}") from error
    return str(path), path.name if path.is_absolute() else Path(os.path.normpath(shown)).as_posix()


def _in_folder(folder: Path) -> list[tuple[str, str]]:
    """Files below `folder` with their paths relative to it, in natural order.

    A folder that cannot be read stands for itself.
    """
    files: list[tuple[str, str]] = []
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            info = here.stat()
            if (info.st_dev, info.st_ino) in seen or (here != folder and _is_dataset(here)):
                continue
            seen.add((info.st_dev, info.st_ino))
            visible = [e for e in here.iterdir() if not e.name.startswith(".") or e.name in SETTINGS_FOLDERS]
            if is_run_folder(here):  # its hundreds of small files are one run, read through its first
                visible = [here / ANCHOR]
            waiting += [entry for entry in visible if entry.is_dir()]
            found = [entry for entry in visible if entry.is_file() and not _belongs(entry, visible)]
        except OSError:
            found = [here]
        files += [(str(entry), entry.relative_to(folder).as_posix()) for entry in found]
    return sorted(files, key=lambda pair: natural_key(pair[1]))


def _belongs(entry: Path, visible: Sequence[Path]) -> bool:
    """A database's write-ahead log and its index are read with the database."""
    return entry.name.endswith((WAL, SHM)) and entry.with_name(entry.name[: -len(WAL)]) in visible


def _is_dataset(folder: Path) -> bool:
    return all((folder / table.filename).is_file() for table in (ROLLOUTS, STEPS))


def _distinct(files: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names made different where files share one, by showing more of their paths."""
    names = [name for _, name in files]
    while True:
        count = Counter(names)
        longer = [
            _longer(path, name) if count[name] > 1 else name
            for (path, _), name in zip(files, names, strict=True)
        ]
        if longer == names:
            return [(path, name) for (path, _), name in zip(files, names, strict=True)]
        names = longer


def _longer(path: str, name: str) -> str:
    parts = Path(path).absolute().parts
    return "/".join(parts[-(name.count("/") + 2) :]).replace("//", "/")


def _sniff(path: str, name: str) -> SniffedFile:
    place = Path(path)
    try:
        return sniff(path, name)
    except InputProblem as problem:
        size = place.stat().st_size
        return SniffedFile(str(place.absolute()), name, size, "binary", metadata={"problem": problem.message})


__all__ = ["find_files", "keys_of", "natural_key", "search_text", "sniff"]
