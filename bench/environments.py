"""Each system's own virtual environment: `python -m bench.environments` makes them of `requirements/NAME.txt`, by uv.

What an environment costs its user is measured here, too: how many distributions, how large, how long its import takes.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .systems import ALL, System

HERE = Path(__file__).parent
ROOT = HERE.parent
NOT_INSTALLED = 3
"""What the command exits with where packages can't be had."""
_PROBE = "import time;t=time.process_time();{};print(time.process_time()-t)"
_INVENTORY = """
import json, importlib.metadata as m, pathlib
files = {str(d._path): sum(p.stat().st_size for f in d.files or () if (p := pathlib.Path(f.locate())).is_file())
         for d in m.distributions()}
versions = {d.metadata["Name"]: d.version for d in m.distributions()}
print(json.dumps({"count": len(files), "bytes": sum(files.values()), "versions": versions}))
"""


def python_of(environment: str) -> Path | None:
    """Return an environment's interpreter, None where it was not made; Actum runs in this one then."""
    python = HERE / ".venvs" / environment / "bin" / "python"
    if python.exists():
        return python
    return Path(sys.executable) if environment == "actum" else None


def carried_out_in(environment: str, module: str, words: Sequence[str]) -> int | None:
    """Run a module in an environment and return its exit code; None, and nothing is run, where it is this one.

    Raises:
        SystemExit: the environment wasn't made.
    """
    python = python_of(environment)
    if python is None:
        sys.exit(f"there is no such environment yet: python -m bench.environments {environment}")
    if python.parents[1].resolve() == Path(sys.prefix).resolve():
        return None
    env = {**os.environ, "PYTHONHASHSEED": "0"}  # AgentDojo answers with lists that it makes of sets
    return subprocess.run([str(python), "-m", module, *words], cwd=ROOT, env=env, check=False).returncode


def make(environment: str) -> None:
    """Make an environment where there is none, with the pinned versions; Actum in it is always put in anew."""
    uv = str(Path(sys.executable).with_name("uv"))
    uv = uv if Path(uv).exists() else shutil.which("uv") or "uv"
    folder = HERE / ".venvs" / environment
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder / "bin" / "python")]
    if not (folder / "bin" / "python").exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
        pinned = HERE / "requirements" / f"{environment}.txt"
        # A suite brings packages that only its own models need: what is used of it is pinned whole, by hash.
        strict = ["--no-deps", "--require-hashes"] if "--hash=" in pinned.read_text(encoding="utf-8") else []
        try:
            subprocess.run([*install, *strict, "-r", str(pinned)], check=True)
        except subprocess.CalledProcessError:
            shutil.rmtree(folder)
            raise
    if environment.startswith("actum"):
        subprocess.run([*install, "--no-deps", "--reinstall-package", "actum", str(ROOT)], check=True)


def import_seconds(system: System, repeats: int) -> float:
    """The processor time of a system's import in a fresh process, over that of the bare interpreter (median)."""
    python = python_of(system.environment)
    statement = system.imports
    return statistics.median(_probe(python, statement) for _ in range(repeats))


def import_core_seconds(repeats: int) -> float:
    """The same of `import actum` alone."""
    return statistics.median(_probe(python_of("actum"), "import actum") for _ in range(repeats))


def inventory(environment: str) -> dict[str, Any]:
    """How many distributions an environment has, of how many bytes, in which versions."""
    return json.loads(_output(python_of(environment), _INVENTORY))


def _probe(python: Path | None, statement: str) -> float:
    return float(_output(python, _PROBE.format(statement)))


def _output(python: Path | None, program: str) -> str:
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True, cwd=HERE)
    return done.stdout


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted({system.environment for system in ALL} | {"actum-core"}):
        try:
            make(name)
        except subprocess.CalledProcessError:
            sys.stderr.write(f"{name}: its packages can't be installed here\n")
            sys.exit(NOT_INSTALLED)
