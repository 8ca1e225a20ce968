"""Programs that a newcomer wrote with the wheel and the site alone, as written today: they work, and are shorter."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request  # noqa: TC002 -- what Starlette looks for
from starlette.responses import StreamingResponse
from starlette.routing import Route

from ..models.wires import chat

HERE = Path(__file__).parent
LINES = {"batch.py": 83, "desk/app.py": 100, "desk/desk.py": 67, "port.py": 67, "research.py": 92}
"""How many each program had; the port: the program that it is one of."""
HELD = 100
PATIENCE = 100


@pytest.mark.parametrize("program", LINES)
def test_it_is_no_longer_than_it_was(program: str) -> None:
    lines = len((HERE / program).read_text(encoding="utf-8").splitlines())
    assert lines < LINES[program] or (program, lines) == ("port.py", LINES["port.py"])


async def begun(program: str, *given: str, folder: Path) -> asyncio.subprocess.Process:
    pipes: dict[str, Any] = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    return await asyncio.create_subprocess_exec(sys.executable, program, *given, cwd=folder, **pipes)


async def printed_by(process: asyncio.subprocess.Process) -> str:
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def test_the_port_does_what_the_program_did(tmp_path: Path) -> None:
    before = await printed_by(await begun(str(HERE / "before_port.py"), folder=tmp_path))
    ported = await printed_by(await begun(str(HERE / "port.py"), folder=tmp_path))
    assert ported.splitlines()[-1] == before.splitlines()[-1] == "route='LIS-PAR' price=80.0 note='' []"
    booked = [re.split(r" \w*Usage\(", text)[0] for text in (ported, before)]
    assert booked == ["route='LIS-BER' price=120.0 note=''"] * 2


async def test_the_desk_passes_the_tests_that_it_came_with(tmp_path: Path) -> None:
    folder = shutil.copytree(HERE / "desk", tmp_path / "desk", ignore=shutil.ignore_patterns("__pycache__"))
    pytest_of = ("pytest", "-q", "-o", "anyio_mode=auto", "-p", "no:cacheprovider", "suite.py")
    assert "9 passed" in await printed_by(await begun("-m", *pytest_of, folder=folder))


@asynccontextmanager
async def provider(requested: list[int], holds_from: int) -> AsyncGenerator[str]:
    """A provider on loopback that knows the invoices; after so many requests, it stops answering."""

    async def answer(request: Request) -> StreamingResponse:
        match = re.search(r"Invoice (\d+)", (await request.body()).decode())
        assert match
        number = int(match[1])
        requested.append(number)
        held = len(requested) > holds_from
        output = {"kind": "invoice", "number": number, "total": number * 1.5}

        async def pieces() -> AsyncIterator[str]:
            if held:
                await asyncio.Event().wait()
            for piece in chat([json.dumps({"calls": [], "output": output})]):
                yield str(piece)

        return StreamingResponse(pieces(), media_type="text/event-stream")

    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=0))
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await serving


async def test_a_batch_that_was_killed_goes_on_and_asks_for_nothing_twice_that_was_answered(tmp_path: Path) -> None:
    first: list[int] = []
    second: list[int] = []
    program = str(HERE / "batch.py")
    async with provider(first, HELD) as url:
        killed = await begun(program, url, folder=tmp_path)
        async with asyncio.timeout(PATIENCE):
            while len(first) <= HELD:  # noqa: ASYNC110 -- what it waits for is another process
                await asyncio.sleep(0.01)
        killed.kill()
        await killed.communicate()
    async with provider(second, 1_000) as url:
        printed = await printed_by(await begun(program, url, folder=tmp_path))
    tonight = re.search(r"\n300 documents, (\d+) tonight, 0 failed; Usage\(requests=\d+,", printed)
    assert tonight
    # What was answered before the kill, and hadn't ended, ends tonight without a request.
    assert len(second) <= int(tonight[1]) <= len(second) + 8
    twice = {number for number, count in Counter(first + second).items() if count > 1}
    assert {*first, *second} == {*range(1, 301)}
    assert len(twice) <= 8, "what was under way when it was killed: Config(parallel=8)"


async def test_a_team_with_a_remote_member_is_an_mcp_tool_with_traces(tmp_path: Path) -> None:
    shutil.copy(HERE / "remote.json", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    remote = await begun(str(HERE / "remote.py"), port, folder=tmp_path)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    assert remote.returncode is None
                    await asyncio.sleep(0.05)
                else:
                    writer.close()
                    break
        printed = await printed_by(await begun(str(HERE / "research.py"), port, folder=tmp_path))
    finally:
        remote.terminate()
        await remote.communicate()
    assert "research Research a question." in printed
    report = {"report": "Tides follow the moon.", "critique": "No sources.", "verdict": "holds"}
    assert f"False {report}" in printed
    spans = [line.split(" {")[0] for line in printed.splitlines() if "gen_ai" in line]
    assert spans.count("·  execute_tool check") == 1
    assert spans.count("·  ·  ·  chat gpt-5.2") == 2
