"""The places that runs are kept in: memory, a file of SQLite, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ..effort import EFFORT
from ..storage.servers import Server
from .tally import PLACES, Tally


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


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Generator[Tally]:
    """The count of a test that is marked with its fault: nothing may be amiss. It is kept where all is tried."""
    marker = request.node.get_closest_marker("fault")
    parts = getattr(request.node, "callspec", None)
    params: dict[str, Any] = {} if parts is None else parts.params
    place = PLACES[params.get("place", params.get("shared", "postgres"))]
    counted = Tally(marker.args[0].format(**params), place, f"{request.path.name}::{request.function.__name__}")
    yield counted
    if EFFORT == "all" and counted.runs:
        counted.keep()
    assert counted.is_clean, counted
