"""Programs as a new user writes them, run and type-checked by `make wheel` with a built wheel."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.models.server import Reply, Server
from tests.models.wires import chat

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = os.environ.get("ACTUM_PYTHON", sys.executable)
"""The Python that the programs are run by: that of a bare environment which has nothing but the wheel."""
BOUND = 100.0
pytestmark = pytest.mark.skipif(
    "ACTUM_PYTHON" not in os.environ, reason="`make wheel` runs them, with a Python that has nothing but the wheel"
)
PNG = b"\x89PNG\r\n\x1a\nand so on"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The programs in a folder of their own, away from the source."""
    shutil.copytree(PROGRAMS, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "project"


async def ran(folder: Path, *arguments: str, typed: str = "", **variables: str) -> str:
    environment = {
        key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "ACTUM_MODEL"}
    } | variables
    process = await asyncio.create_subprocess_exec(
        PYTHON, *arguments, cwd=folder, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(BOUND):
        output, error = await process.communicate(typed.encode())
    assert (process.returncode, error.decode()) == (0, "")
    return output.decode()


async def test_it_is_what_is_to_be_proved(folder: Path) -> None:
    where = await ran(folder, "-c", "import actum, pathlib; print(pathlib.Path(actum.__file__).parents[1])")
    assert ("site-packages" in where) is ("ACTUM_PYTHON" in os.environ)


@pytest.mark.rule("M4", "O9")
async def test_a_chat_with_memory_and_streaming_takes_twenty_lines(folder: Path) -> None:
    assert len((folder / "chat.py").read_text(encoding="utf-8").splitlines()) <= 20
    printed = await ran(folder, "chat.py", typed="Hi\nI am Ada\nWho am I?\n\n")
    assert printed.replace("|", "").splitlines() == ["Who are you?", "Hello, Ada!", "Hello, Ada!"]
    assert printed.splitlines()[0].count("|") >= 3, "piece by piece"


@pytest.mark.rule("M10")
async def test_a_picture_is_described_by_a_model_that_has_been_sent_it(folder: Path) -> None:
    (folder / "photo.png").write_bytes(PNG)
    digest = hashlib.sha256(PNG).hexdigest()[:8]
    assert await ran(folder, "picture.py") == f"image/png {digest} in red and blue\n"


@pytest.mark.rule("L6", "L8", "C9")
async def test_forty_tickets_are_sorted_and_the_refunds_wait_for_approval_in_another_process(folder: Path) -> None:
    (folder / "tickets.json").write_text(json.dumps([{"id": n, "text": "Help"} for n in range(40)]), encoding="utf-8")
    book = folder / "book.txt"
    assert await ran(folder, "triage.py", "begin", "tickets.json") == "None 4\n"
    answered = book.read_text(encoding="utf-8").splitlines()
    assert sorted(answered) == sorted(f"answered {n}: Thank you." for n in range(40) if n % 10 != 9)
    await ran(folder, "triage.py", "approve")
    assert len(book.read_text(encoding="utf-8").splitlines()) == 36
    output = await ran(folder, "triage.py", "resume")
    done = book.read_text(encoding="utf-8").splitlines()
    assert done[:36] == answered, "nothing is answered twice"
    refunds = [line.split(" under ") for line in done[36:]]
    assert sorted(line for line, _ in refunds) == ["refunded 19: 25.0", "refunded 29: 37.5", "refunded 9: 12.5"]
    assert len({key for _, key in refunds}) == 3
    assert output == "['sorted again'] 0\n", "what was denied is told to the model, which answers anew"


@pytest.mark.rule("X2", "D15")
async def test_a_team_of_two_ideas_is_of_two_models(folder: Path) -> None:
    async with Server().running() as server:
        calls = '{"calls":[{"_tool":"shorten","text":"The tides come and go."}],"output":"†calls.0"}'
        server.reply(Reply(parts=chat([calls])), Reply(parts=chat(['{"calls":[],"output":"Tides come and go."}'])))
        printed = await ran(folder, "team.py", OLLAMA_BASE_URL=f"{server.url}/v1", NO_PROXY="127.0.0.1")
        requests = [(request.body["model"], len(request.body["messages"])) for request in server.received]
    assert printed == "Tides come and go.\n2 requests\n"
    assert [model for model, _ in requests] == ["large", "small"]
    assert "You write about" not in server.received[1].raw.decode(), "the one doesn't see the context of the other"


@pytest.mark.rule("O9")
async def test_ten_thousand_characters_come_piece_by_piece_in_order_and_whole(folder: Path) -> None:
    pieces, growth = (await ran(folder, "text.py")).splitlines()
    assert 2_500 <= int(pieces.split()[0]) <= 2_502
    assert 3 < float(growth.split()[0]) < 4.4


def test_mypy_strict_finds_nothing_in_them(folder: Path) -> None:
    done = checked(folder, "mypy", "--python-executable", PYTHON, "--cache-dir", str(folder / "cache"), ".")
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


def test_pyright_strict_finds_nothing_in_them(folder: Path) -> None:
    done = checked(folder, "pyright", "--pythonpath", PYTHON, "--outputjson", "-p", ".")
    report = json.loads(done.stdout)
    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] == len(list(PROGRAMS.glob("*.py")))


def checked(folder: Path, checker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", checker, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BOUND, check=False)
