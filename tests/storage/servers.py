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
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    raise RuntimeError("these tests need PostgreSQL: apt-get install postgresql")


@contextmanager
def postgres() -> Generator[str]:
    """The URL of a server that runs as long as the block; as root it runs as `nobody`, since it refuses root."""
    where = programs()
    folder = Path(tempfile.mkdtemp(prefix="actum-pg-"))
    as_nobody: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        as_nobody = {"user": nobody.pw_uid, "group": nobody.pw_gid}

    def run(program: str, *arguments: str) -> None:
        command = [str(where / program), *arguments]
        done: Any = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, **as_nobody
        )
        assert done.returncode == 0, done.stdout + done.stderr

    data = folder / "data"
    run("initdb", "-D", str(data), "-A", "trust", "-U", "actum", "--no-sync", "-E", "UTF8", "--locale=C")
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    run("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql://actum@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)
