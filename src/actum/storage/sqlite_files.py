"""Files of SQLite: what one keeps, told before anything in it is changed, and what the database says in words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal

Kind = Literal["Ideas", "runs"]

_OWN: Mapping[Kind, frozenset[str]] = {
    "Ideas": frozenset({"contents.digest", "entries.sequence", "entries.digest"}),
    "runs": frozenset({"actum_runs.id", "actum_runs.lease"}),
}
"""Columns by which a store of each kind is known."""
_COLUMNS = "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
_ADVICE = {
    sqlite3.SQLITE_NOTADB: "name another file",
    sqlite3.SQLITE_CORRUPT: "put back a copy of it, or name another file",
    sqlite3.SQLITE_CANTOPEN: "name a file in a folder that you may write to",
    sqlite3.SQLITE_READONLY: "name a file that you may write to",
    sqlite3.SQLITE_FULL: "make room",
}
_LASTING = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})


def strange(path: str | Path, kind: Kind) -> str | None:
    """Why a file is no store of a kind; None where it is one, or may become one.

    Raises:
        sqlite3.Error, OSError: it can't be read, or is no database at all.
    """
    if os.path.isdir(path):
        return f"a folder, where a store of {kind} in SQLite would be a file"
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    with closing(sqlite3.connect(_unchanged(path), uri=True)) as database:
        columns = {name for (name,) in database.execute(_COLUMNS)}
        is_begun = database.execute("PRAGMA user_version").fetchone()[0] != 0
    kept = next((one for one, own in _OWN.items() if is_begun and own <= columns), None)
    if kept == kind or not (is_begun or columns):
        return None
    return f"{'a database' if kept is None else f'a store of {kept}'}, but not a store of {kind}"


def said(error: Exception) -> str:
    """What SQLite says, in one line, and what helps."""
    words = " ".join(str((isinstance(error, OSError) and error.strerror) or error).split())
    advice = _ADVICE.get(_code(error))
    return f"{words}; {advice}" if advice else words


def is_lasting(error: sqlite3.Error) -> bool:
    """Whether the same would fail later, too, so that it is of no use to try it again."""
    return not isinstance(error, sqlite3.OperationalError) or _code(error) in _LASTING


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _unchanged(path: str | Path) -> str:
    """A file as the URL of a connection that changes nothing: closing others takes up the journal beside it."""
    is_used = any(os.path.exists(f"{path}-{journal}") for journal in ("wal", "journal"))
    return f"{Path(path).absolute().as_uri()}?{'mode=ro' if is_used else 'immutable=1'}"
