"""Files of SQLite: what a file keeps, found out before it is changed, and the database's errors in words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from ..errors import ActumError

Kind = Literal["Ideas", "runs", "plans"]

_MARKS: Mapping[Kind, frozenset[str]] = {
    "Ideas": frozenset({"contents.digest", "entries.sequence", "entries.digest"}),
    "runs": frozenset({"actum_runs.id", "actum_runs.lease"}),
    "plans": frozenset({"plans.family", "examples.family", "tallies.hash"}),
}
"""Columns by which a store of each kind is recognised."""
_COLUMNS = "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
_ADVICE = {
    sqlite3.SQLITE_NOTADB: "name another file",
    sqlite3.SQLITE_CORRUPT: "put back a copy of it, or name another file",
    sqlite3.SQLITE_CANTOPEN: "name a file in a folder that you may write to",
    sqlite3.SQLITE_READONLY: "name a file that you may write to",
    sqlite3.SQLITE_FULL: "make room",
}
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
_LASTING = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})


def mismatch(path: str | Path, kind: Kind) -> str | None:
    """Why a file isn't a store of a kind; None where it is one, or may become one.

    Raises:
        sqlite3.Error, OSError: it can't be read, or isn't a database at all.
    """
    if os.path.isdir(path):
        return f"a folder, where a store of {kind} in SQLite would be a file"
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    columns, is_begun = _columns_of(path)
    other = next((name for name, marks in _MARKS.items() if is_begun and marks <= columns), None)
    if other == kind or not (is_begun or columns):
        return None
    return f"{'a database' if other is None else f'a store of {other}'}, but not a store of {kind}"


def open_database(
    path: str | Path, kind: Kind, error: type[ActumError], make: Callable[[sqlite3.Connection], object]
) -> sqlite3.Connection:
    """A connection to a file of a kind, or to memory; `make` adds the tables that it lacks.

    Raises:
        ActumError: of type `error`: it keeps something else.
        sqlite3.Error, OSError: it can't be opened.
    """
    if str(path) != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if (complaint := mismatch(path, kind)) is not None:
            raise error(f"{path}: {complaint}")
    database = connect(path)
    try:
        make(database)
        database.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def transaction(database: sqlite3.Connection) -> Generator[None]:
    """A transaction; it takes the write lock at once, so that what was read can't change meanwhile."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def connect(path: str | Path) -> sqlite3.Connection:
    """A connection to a file in WAL mode, whose readers and writers don't block each other; for any thread.

    Raises:
        sqlite3.Error: it can't be opened.
    """
    database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    until = time.monotonic() + _PATIENCE
    try:
        while True:
            try:
                database.execute("PRAGMA journal_mode = WAL")
                return database
            except sqlite3.OperationalError as error:
                # The pragma reads before it writes, so SQLite doesn't wait while another process does the same.
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                database.executescript("BEGIN IMMEDIATE; ROLLBACK")  # waits for the other process
    except BaseException:
        database.close()
        raise


def sqlite_message(error: Exception) -> str:
    """SQLite's message in one line, with advice."""
    words = " ".join(str((isinstance(error, OSError) and error.strerror) or error).split())
    advice = _ADVICE.get(_code(error))
    return f"{words}; {advice}" if advice else words


def is_lasting(error: sqlite3.Error) -> bool:
    """Whether trying again is of no use."""
    return not isinstance(error, sqlite3.OperationalError) or _code(error) in _LASTING


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _columns_of(path: str | Path) -> tuple[set[str], bool]:
    """The columns of a file, and whether it has a version, both at one moment."""
    url = Path(path).absolute().as_uri()
    while True:
        before = os.stat(path)
        # Such connections change nothing: closing any other would checkpoint the journal beside the file.
        is_used = any(os.path.exists(f"{path}-{journal}") for journal in ("wal", "journal"))
        try:
            content = _read(f"{url}?{'mode=ro' if is_used else 'immutable=1'}")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
                return _read(f"{url}?mode=rw")  # a writer was killed: the first reader has to roll back
            if is_used or not _has_changed(path, before):
                raise
        else:
            if is_used or not _has_changed(path, before):
                return content


def _read(url: str) -> tuple[set[str], bool]:
    with closing(sqlite3.connect(url, uri=True, timeout=_PATIENCE, isolation_level=None)) as database:
        database.execute("BEGIN")
        columns = {name for (name,) in database.execute(_COLUMNS)}
        return columns, database.execute("PRAGMA user_version").fetchone()[0] != 0


def _has_changed(path: str | Path, before: os.stat_result) -> bool:
    """Whether another process wrote to a file while it was read without a lock."""
    now = os.stat(path)
    return (now.st_mtime_ns, now.st_size, now.st_ino) != (before.st_mtime_ns, before.st_size, before.st_ino)
