"""The processes of a measurement: one server, and one runner for each system that stays for the whole of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from .environments import ROOT, python_of
from .latency import Latency
from .runners.timing import Order
from .systems import System

Line = dict[str, Any]


class RunnerFailed(RuntimeError):
    """A runner ended before its order was carried out."""


class Bench:
    """A server that is up, and the runners that were needed so far."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        self.url = url
        self._stack = stack
        self._runners: dict[str, subprocess.Popen[str]] = {}

    def order(self, system: System, scenario: str, **more: Any) -> list[Line]:
        """Have a system run a scenario; return the lines of its runs, the requests of each among them.

        Raises:
            RunnerFailed: with what the runner wrote last.
        """
        url = f"{self.url}/{system.environment}/{scenario}/v1"
        runner = self._runner(system)
        order = Order(url=url, scenario=scenario, variant=more.pop("variant", system.variant), **more)
        self.log()
        assert runner.stdin is not None
        runner.stdin.write(json.dumps(asdict(order)) + "\n")
        runner.stdin.flush()
        lines = list(self._lines(runner, system, scenario))
        return with_requests(lines, self.log())

    def set_latency(self, latency: Latency) -> None:
        """Have the server answer at this speed from now on."""
        self._call("PUT", "/latency", json.dumps(asdict(latency)).encode())

    def log(self) -> list[Line]:
        """Take the server's log so far; a new one begins."""
        return self._call("GET", "/log")

    def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data=body, method=method)) as answer:
            return json.load(answer)

    def _runner(self, system: System) -> subprocess.Popen[str]:
        if (known := self._runners.get(system.name)) is not None:
            return known
        python = python_of(system.environment)
        command = [str(python), "-m", f"bench.runners.{system.runner}"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(is_ours=system.is_ours),
        )
        self._stack.enter_context(_ended(process))
        self._runners[system.name] = process
        return process

    def _lines(self, runner: subprocess.Popen[str], system: System, scenario: str) -> Iterator[Line]:
        assert runner.stdout is not None
        while text := runner.stdout.readline():
            line = json.loads(text)
            yield line
            if "peak_mb" in line:
                return
        raise RunnerFailed(f"the runner of {system.name!r} ended in {scenario!r}; what it wrote stands above")


def with_requests(lines: list[Line], log: list[Line]) -> list[Line]:
    """Give each run the requests that arrived while it ran, and its peak memory and version."""
    *runs, last = lines
    for run in runs:
        began, ended = run["began"], run["began"] + run["wall"]
        run["requests"] = [entry for entry in log if began <= entry["arrived"] <= ended]
        run.update(last)
    return runs


@contextmanager
def running() -> Generator[Bench]:
    """Start the server in its own process; end it and all runners when the block is left."""
    with ExitStack() as stack:
        command = [sys.executable, "-m", "bench.server"]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        stack.enter_context(_ended(server))
        assert server.stdout is not None
        yield Bench(server.stdout.readline().strip(), stack)


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Generator[None]:
    """End a process, which goes when its input is closed, when the block is left."""
    try:
        yield
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def environment(*, is_ours: bool) -> dict[str, str]:
    """The environment of a runner: nothing that would have a library report home, and Actum from this checkout."""
    quiet = {"LANGSMITH_TRACING": "false", "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONHASHSEED": "0"}
    ours = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])} if is_ours else {}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "LANG"))}
    return {**kept, **quiet, **ours}
