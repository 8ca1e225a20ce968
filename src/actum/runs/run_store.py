"""The stores of runs, and which of them a URL names. A store judges each write of a record by the run's lease."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import RunError
from ..sources.files import is_name
from .checks import shown_value
from .queue import Queue
from .queues.embedded import EmbeddedQueue
from .run_folder import RunFolder
from .sql_store import SqlStore
from .sqlite_database import SqliteDatabase

RunStore: TypeAlias = SqlStore | RunFolder
"""Keeps runs and has its queue deliver them: in a database, or in a folder, with the same methods (see `SqlStore`).

All of them raise StoreUnavailable while the place can't be reached, RunError if it can't be used.
"""
_SERVERS = ("postgresql://", "postgres://")
_ACCEPTED = "runs are kept in postgresql://…, sqlite:///FILE, FILE.db, a folder, or :memory:"
_OF_FILES = (".json", ".jsonl", ".yaml", ".yml")


def open_runs(url: str | Path, queue: Queue | None = None) -> RunStore:
    """The runs that a URL or a path names: `postgresql://…`, `sqlite:///FILE` or `FILE.db`, `:memory:`, or a folder.

    They are opened when they are first used. `queue` replaces their own queue.

    Raises:
        RunError: it names no place that can keep runs.
    """
    text = place_given(url)
    if text.startswith(_SERVERS):
        from .postgres_database import PostgresDatabase
        from .queues.procrastinate import ProcrastinateQueue

        database = PostgresDatabase(text)
        return SqlStore(database, queue or ProcrastinateQueue(database))
    path = sqlite_path(text)
    if path is None:
        return RunFolder(Path(text), queue)
    database = SqliteDatabase(path)
    return SqlStore(database, queue or EmbeddedQueue(database))


def place_given(place: Any) -> str:
    """The name of a place as text, checked without opening it.

    Raises:
        RunError: it can't.
    """
    text = str(place)
    path = sqlite_path(text)
    if not isinstance(place, str | Path) or not text.strip() or not is_name(text):
        raise RunError(f"{shown_value(place)} names no place: {_ACCEPTED}")
    if text.startswith(_SERVERS) or path == ":memory:":
        return text
    if text.startswith(":"):
        raise RunError(f"{text} is not `:memory:`: {_ACCEPTED}")
    if "://" in (path or text) or text.startswith("idea:") or path == "" or (path or "").startswith("//"):
        raise RunError(f"{text.partition(':')[0]}:// keeps no runs: {_ACCEPTED}")
    is_folder = os.path.isdir(path or text)
    if path is not None and is_folder:
        raise RunError(f"{path}: a folder, where a file of SQLite would be: {_ACCEPTED}")
    if path is None and not is_folder and (os.path.lexists(text) or text.lower().endswith(_OF_FILES)):
        raise RunError(f"{text}: a file that keeps no runs: {_ACCEPTED}")
    return text


def sqlite_path(text: str) -> str | None:
    """The file of the SQLite database that a text names; None if it names none."""
    for scheme in ("sqlite:///", "sqlite:"):
        if text.startswith(scheme):
            return text.removeprefix(scheme)
    return text if text == ":memory:" or text.endswith((".db", ".sqlite", ".sqlite3")) else None
