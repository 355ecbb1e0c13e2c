"""SQLite databases of trackers: opened read-only, with what still stands in the write-ahead log.

A killed run leaves its last rows in `NAME-wal`. SQLite merges them when it opens the database for
writing, and the folder may be read-only or the run alive, so both files are copied first.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from rollprof.errors import InputProblem

WAL, SHM = "-wal", "-shm"


@contextmanager
def open_database(path: str, name: str) -> Iterator[sqlite3.Connection]:
    """A connection that reads and never writes. Raises InputProblem where the file is no database."""
    with tempfile.TemporaryDirectory(prefix="rollprof-") as folder:
        place = Path(path)
        log = place.with_name(place.name + WAL)
        immutable = "&immutable=1"
        if log.is_file() and log.stat().st_size:
            try:
                place = Path(shutil.copyfile(place, Path(folder) / "database"))
                shutil.copyfile(log, Path(folder) / f"database{WAL}")
            except OSError as error:
                raise InputProblem(f"cannot copy {name}: {error.strerror or error}") from error
            immutable = ""
        uri = f"file:{quote(str(place.absolute()))}?mode={'rw' if not immutable else 'ro'}{immutable}"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                connection.text_factory = _text
                connection.execute("PRAGMA trusted_schema=OFF")
                connection.execute("PRAGMA query_only=ON")
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged name breaks even the message
            raise InputProblem(f"{name}: unreadable database: {error}") from error


def tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    """Name -> columns of the real tables."""
    found: dict[str, set[str]] = {}
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        with suppress(sqlite3.Error):
            quoted = str(name).replace('"', '""')
            rows = connection.execute(f'PRAGMA table_info("{quoted}")')
            found[str(name)] = {str(row[1]) for row in rows}
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
