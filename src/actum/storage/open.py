"""Which store a URL names."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import IdeaError
from ..ideas.store import Store
from ..sources.files import path_given

DEFAULT_STORE = ".actum/ideas.db"


def default_store() -> str:
    """The default store: ACTUM_STORE, else a SQLite file in the current folder."""
    return os.environ.get("ACTUM_STORE") or DEFAULT_STORE


def local_path(url: str) -> Path | None:
    """The file or the folder of a store; None if a server keeps it."""
    return None if "://" in url else Path(url.removeprefix("sqlite:"))


def check_store(name: str, *, makes: bool) -> None:
    """Check that a store exists, or may be made; so a misspelt name makes none.

    Raises:
        IdeaError: it doesn't exist, and may not be made.
    """
    path = local_path(name)
    if path is None or os.path.exists(path):
        return
    if not makes:
        raise IdeaError(f"there is no store at {path}: `actum save` makes one")
    if name != DEFAULT_STORE and not path.absolute().parent.is_dir():
        raise IdeaError(f"no store can be made at {path}: there is no folder {path.parent}")


def open_store(url: str | Path) -> Store:
    """The store that a URL or a path names: `postgresql://…`, `sqlite:FILE`, `FILE.db`, or a folder.

    It is opened when it is first used.

    Raises:
        IdeaError: the URL is of another kind, or names nothing.
    """
    text = url if isinstance(url, str) and "://" in url else str(path_given(url))
    if text.startswith(("postgresql://", "postgres://")):
        from .postgres import PostgresStore

        return PostgresStore(text)
    if "://" in text and not text.startswith("sqlite:"):
        raise IdeaError(f"{text.partition('://')[0]}:// is not a store: use postgresql://, sqlite:FILE or a folder")
    if text.startswith("sqlite:") or text.endswith((".db", ".sqlite", ".sqlite3")):
        from .sqlite import SqliteStore

        return SqliteStore(path_given(text.removeprefix("sqlite:")))
    from .folder import FolderStore

    return FolderStore(text)
