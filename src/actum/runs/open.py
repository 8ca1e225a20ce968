"""Which place and which queue a URL names."""

from __future__ import annotations

from pathlib import Path

from ..errors import RunError
from .queue import Queue
from .queues.embedded import EmbeddedQueue
from .queues.memory import MemoryQueue
from .sql_store import SqlStore
from .sqlite import SqliteDatabase
from .store import RunStore


def open_runs(url: str | Path, queue: Queue | None = None) -> RunStore:
    """The runs that a URL or a path names: `postgresql://…`, `sqlite:///FILE` or `FILE.db`, `:memory:`, or a folder.

    They are opened when they are first used. `queue` takes the place of the one that belongs to them.

    Raises:
        RunError: for a URL of another kind.
    """
    text = str(url)
    if text.startswith(("postgresql://", "postgres://")):
        from .postgres import PostgresDatabase
        from .queues.procrastinate import ProcrastinateQueue

        database = PostgresDatabase(text)
        return SqlStore(database, queue or ProcrastinateQueue(database))
    path = sqlite_path(text)
    if path is None and "://" in text:
        scheme = text.partition("://")[0]
        raise RunError(f"{scheme}:// keeps no runs: use postgresql://, sqlite:///FILE, FILE.db or a folder")
    if path is None:
        from .folder import FolderStore

        return FolderStore(Path(text), queue)
    own = SqliteDatabase(path)
    return SqlStore(own, queue or (MemoryQueue() if path == ":memory:" else EmbeddedQueue(own)))


def sqlite_path(text: str) -> str | None:
    """The file of a database of SQLite, None for what names none."""
    for scheme in ("sqlite:///", "sqlite:"):
        if text.startswith(scheme):
            return text.removeprefix(scheme)
    return text if text == ":memory:" or text.endswith((".db", ".sqlite", ".sqlite3")) else None
