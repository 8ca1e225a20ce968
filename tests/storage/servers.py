"""A PostgreSQL server of the tests' own, on a socket in a folder of its own: no port, no network."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def is_installed() -> bool:
    """Whether a server can be started here."""
    try:
        programs()
    except RuntimeError:
        return False
    return True


def programs() -> Path:
    """Where the server's programs are.

    Raises:
        RuntimeError: it isn't installed.
    """
    program = shutil.which("initdb")
    folders = [Path(program).parent] if program else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    raise RuntimeError("these tests need PostgreSQL: apt-get install postgresql")


class Server:
    """A PostgreSQL server; as root it runs as `nobody`, since it refuses root."""

    def __init__(self, *, is_synced: bool = False) -> None:
        self._programs = programs()
        self._is_synced = is_synced
        self._folder = Path(tempfile.mkdtemp(prefix="actum-pg-"))
        self._as_nobody: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
            self._as_nobody = {"user": nobody.pw_uid, "group": nobody.pw_gid}

    @property
    def url(self) -> str:
        """The URL of its one database that is always there."""
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = "actum") -> str:
        """The URL of a database."""
        return f"postgresql://{user}@/{database}?host={self._folder}"

    def start(self) -> None:
        """Make it, and start it."""
        data = str(self._folder / "data")
        self._run("initdb", "-D", data, "-A", "trust", "-U", "actum", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}'"
        options += "" if self._is_synced else " -c fsync=off -c full_page_writes=off -c jit=off"
        self._control("start", "-o", options, "-l", str(self._folder / "log"))

    def restart(self, mode: str = "fast") -> None:
        """Restart it under its clients, whose connections are cut; `immediate` as in a crash."""
        self._control("restart", "-m", mode, "-l", str(self._folder / "log"))

    def stop(self) -> None:
        """Stop it, and leave nothing."""
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        done: Any = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **self._as_nobody,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def running(*, is_synced: bool = False) -> Generator[Server]:
    """A server that runs until the block ends; `is_synced` where a test measures what writing to disk costs."""
    server = Server(is_synced=is_synced)
    server.start()
    try:
        yield server
    finally:
        server.stop()
