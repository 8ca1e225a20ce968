"""The places that runs are kept in: memory, a file of SQLite, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from ..storage.servers import Server


@pytest.fixture
def database(server: Server) -> str:
    """The URL of a database that no other test uses."""
    import psycopg

    name = f"runs_{uuid.uuid4().hex}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # pyright: ignore[reportArgumentType, reportCallIssue] -- our own name
    return server.url_of(name)


@pytest.fixture(params=["memory", "folder", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return ":memory:"
        case "folder":
            return str(tmp_path / "kept")
        case "sqlite":
            return f"sqlite:///{tmp_path / 'runs.db'}"
        case _:
            return str(request.getfixturevalue("database"))
