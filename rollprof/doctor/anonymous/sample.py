"""Which parts of a log make its sample, and how each kind of file is written without its text."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO

from rollprof.doctor.anonymous.lines import mask_line
from rollprof.doctor.anonymous.masking import Masks
from rollprof.doctor.anonymous.quoted import mask_json
from rollprof.doctor.anonymous.tables import mask_csv, mask_parquet
from rollprof.doctor.anonymous.vocabulary import is_name_word, words_of
from rollprof.errors import UsageProblem
from rollprof.sources.opening import open_bytes
from rollprof.sources.records import SniffedFile

HEAD = 1 << 20
"""Bytes of each file: enough for some hundreds of steps or rollouts."""
DOCUMENT = 8 << 20
"""Bytes of a JSON document or of a Parquet file, which only a whole one can be read."""
TOTAL = 24 << 20
"""Bytes of a sample: what trackers of bugs take as an attachment."""
STRANGER = 64 << 10
ARCHIVE = ".zip"
_TABLES = (".csv", ".tsv")
_YAML = (".yaml", ".yml", ".md")
_TIME = (2000, 1, 1, 0, 0, 0)
"""The same log makes the same archive."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The bytes to write, and for people: what is in them and what was left out."""

    content: bytes
    files: int
    remarks: tuple[str, ...]

    @property
    def words(self) -> str:
        """`12 files, 96,000 bytes`."""
        return f"{self.files} file{'s' * (self.files != 1)}, {len(self.content):,} bytes"


def sample(files: Sequence[SniffedFile], strangers: Sequence[SniffedFile], target: str) -> Sample:
    """The sample of a log for the file `target`: its text where the log is one file, else a zip archive.

    `strangers` are files that nobody recognised, of which the beginning is taken. Binary files are left
    out: their text cannot be told from the rest. Raises UsageProblem where several files need an archive.
    """
    remarks: list[str] = []
    taken = [*_taken(files, remarks), *_taken(strangers, remarks, STRANGER)]
    if not taken:
        raise UsageProblem("nothing here that a sample could be made of", hint="; ".join(remarks) or None)
    archive = target.lower().endswith(ARCHIVE)
    if len(taken) > 1 and not archive:
        raise UsageProblem(f"{len(taken)} files need an archive", hint=f"--anonymize {target}{ARCHIVE}")
    masks = Masks.of(*(content for _, content in taken))
    masked = [(mask_name(_shown(file), masks), _masked(file, content, masks)) for file, content in taken]
    content = _zipped(masked) if archive else masked[0][1]
    return Sample(content, len(masked), tuple(remarks))


def _taken(
    files: Iterable[SniffedFile], remarks: list[str], limit: int = HEAD
) -> list[tuple[SniffedFile, bytes]]:
    found: list[tuple[SniffedFile, bytes]] = []
    room = TOTAL
    for file in files:
        content = _content(file, limit, remarks)
        if content is None:
            continue
        if len(content) > room:
            remarks.append(f"{file.name}: left out, the sample is large enough")
            continue
        room -= len(content)
        found.append((file, content))
    return found


def _content(file: SniffedFile, limit: int, remarks: list[str]) -> bytes | None:
    """The beginning of a file, to the end of a line; None for one of which no part is of use."""
    if file.kind == "empty" or "problem" in file.metadata:
        return None
    if file.kind == "binary" or (file.metadata.get("sink") and file.kind != "text" and not _plain(file)):
        remarks.append(f"{file.name}: left out, a binary file")
        return None
    whole = file.kind in ("json_document", "parquet")
    with open_bytes(file.path, file.compression) as stream:
        content = stream.read((DOCUMENT if whole else limit) + 1)
    if whole and len(content) > DOCUMENT:
        remarks.append(f"{file.name}: left out, too large to be sampled whole")
        return None
    if whole or len(content) <= limit:
        return content
    remarks.append(f"{file.name}: its first {limit:,} bytes")
    cut = content.rfind(b"\n", 0, limit)
    return content[: cut + 1] if cut > 0 else content[:limit]


def _plain(file: SniffedFile) -> bool:
    return file.kind in ("json_lines", "json_document", "parquet")


def _masked(file: SniffedFile, content: bytes, masks: Masks) -> bytes:
    if file.kind == "parquet":
        return mask_parquet(content, masks)
    text = content.decode("utf-8", "surrogateescape")
    name = _shown(file).lower()
    if file.kind == "json_document":
        masked = mask_json(text, masks)
    elif name.endswith(_TABLES):
        masked = mask_csv(text, masks)
    else:
        yaml = name.endswith(_YAML)
        masked = "".join(_line(line, masks, yaml) for line in _lines(text))
    return masked.encode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    """Lines with their ends. A carriage return ends one too: bars are drawn over themselves."""
    pieces: list[str] = []
    for line in text.split("\n"):
        parts = line.split("\r")
        pieces += [f"{part}\r" for part in parts[:-1]] + [f"{parts[-1]}\n"]
    pieces[-1] = pieces[-1].removesuffix("\n")
    return pieces


def _line(line: str, masks: Masks, yaml: bool) -> str:
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    if body.lstrip("\ufeff \t").startswith(('{"', "[{", '["')):
        return mask_json(body, masks) + end
    return mask_line(body, masks, yaml=yaml) + end


def _shown(file: SniffedFile) -> str:
    name = file.name.replace("\\", "/").lstrip("/")
    for suffix in (".gz", ".zst"):
        if file.compression != "none":
            name = name.removesuffix(suffix)
    return name


def mask_name(name: str, masks: Masks) -> str:
    """A file's name with the words replaced that log files are not made of; its suffix stays."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    return "/".join(
        "".join(
            word if is_name_word(word) or not word.isalnum() else masks.text(word) for word in words_of(part)
        )
        for part in parts
    )


def _zipped(files: Sequence[tuple[str, bytes]]) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _TIME), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()
