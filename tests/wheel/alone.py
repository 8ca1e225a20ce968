"""What a bare environment can do that has the core, or the core with one extra: `python alone.py [EXTRA]`.

Run by `make wheel` with the Python of such an environment; standard library and Actum only.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import metadata
from pathlib import Path

from actum import Agent, Idea, Tools, models

IDEA = '{"context": [{"type": "plan", "plan": [{"_tool": "double", "n": 21}], "output": "†calls.0"}], "schema": {}}'


def core() -> None:
    tools = Tools()

    @tools.tool(effects="none")
    async def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    answer = {"calls": [{"_tool": "double", "n": "{†input.n + 1}"}], "output": "†calls.0"}
    done = Agent(models.Scripted([answer]), tools=tools).run_sync("Double it.", int, input={"n": 20})
    assert done.output == 42
    idea = Idea.read(IDEA, "double.json")
    assert Agent(None, tools=tools).run_sync(idea.context, int).output == 42


def cli() -> None:
    from actum.cli.dispatch import run_command

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "idea.json")
        path.write_text('{"context": [], "schema": {"type": "string"}}', encoding="utf-8")
        assert run_command(["check", str(path)]) == 0


def yaml() -> None:
    assert Idea.read("context: []\nschema: {type: string}\n", "idea.yaml").schema == {"type": "string"}


def http() -> None:
    from actum.sources.fetch import Fetcher

    async def refused() -> str:
        try:
            await Fetcher().fetch("http://127.0.0.1:9/idea.json")
        except Exception as error:
            return type(error).__name__
        return ""

    assert asyncio.run(refused()) == "DelegateForbidden"


def postgres() -> None:
    from actum.storage.open import open_store

    open_store("postgresql://localhost:9/none")


def workers() -> None:
    from actum.runs.queues import procrastinate

    assert procrastinate.__doc__


def mcp() -> None:
    from actum import connections

    async def opened() -> int:
        async with connections.open({"mcpServers": {}}) as servers:
            return len(servers.left_out)

    assert asyncio.run(opened()) == 0


def otel() -> None:
    from actum.tracing import otel

    assert otel.__doc__


def metrics() -> None:
    from actum import Runs, Worker
    from actum.runs.metrics import Metrics, served_metrics

    async def served() -> int:
        async with Runs(":memory:") as runs, served_metrics(Metrics(Worker(runs), runs.store), 0) as port:
            return port

    assert asyncio.run(served()) > 0


def serve() -> None:
    from actum.serving import Served

    assert Served.__doc__


def model(name: str) -> Callable[[], None]:
    def loaded() -> None:
        assert models.load(f"{name}:any", api_key="none").name == f"{name}:any"

    return loaded


CHECKS: Mapping[str, Callable[[], None]] = {
    "cli": cli,
    "yaml": yaml,
    "http": http,
    "postgres": postgres,
    "workers": workers,
    "mcp": mcp,
    "otel": otel,
    "metrics": metrics,
    "serve": serve,
    **{name: model(name) for name in ("openai", "openai-responses", "anthropic", "google")},
}


def main(extra: str) -> None:
    details = metadata("actum")
    assert set(details.get_all("Provides-Extra") or []) == set(CHECKS), "every extra has a check"
    assert details["License-Expression"] == "Apache-2.0"
    assert details["Description-Content-Type"] == "text/markdown"
    core()
    if extra:
        CHECKS[extra]()
    print(f"actum{f'[{extra}]' if extra else ''} works alone")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
