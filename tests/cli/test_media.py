"""A picture on the command line: given with `-i`, shown by `show`, named to who approves (M10)."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from actum.cli.attaching import attached
from actum.cli.commands.show import actum_show
from actum.cli.options import CommandError
from actum.cli.questions import asked_lines
from actum.protocol.approvals import Asked
from actum.protocol.call import Call
from actum.protocol.context import Context
from actum.protocol.declaration import parse_tool

from .test_commands import actum
from .test_terminal import terminal

pytestmark = pytest.mark.rule("M10")

PNG = b"\x89PNG\r\n\x1a\nand so on"
DIGEST = hashlib.sha256(PNG).hexdigest()
DATA = b64encode(PNG).decode()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    path.write_bytes(PNG)
    return path


def test_a_file_becomes_a_message_and_the_rest_stays_input(picture: Path) -> None:
    values, along = attached(Context("Look."), ["n=1", f"picture=@{picture}"])
    assert values == ["n=1"]
    assert along == [{"type": "image", "data": DATA, "media_type": "image/png", "name": "picture"}]


@pytest.mark.parametrize(
    ("pair", "message", "left"),
    [
        ("who=@ann", {"type": "input", "schema": {"properties": {"who": {"type": "string"}}}}, ["who=@ann"]),
        ("who=@ann", {"type": "input", "who": "@bob"}, ["who=@ann"]),
        ("who=@@ann", {"type": "input"}, ["who=@ann"]),
    ],
)
def test_a_text_that_begins_with_the_sign_stays_a_text(pair: str, message: dict[str, Any], left: list[str]) -> None:
    assert attached(Context([message]), [pair]) == (left, [])


@pytest.mark.parametrize(
    ("type", "content", "words"),
    [
        ("array", "[1]", None),
        (["object", "null"], "{}", None),
        ("array", "[1", "delimiter"),
        ("array", None, "No such file"),
    ],
)
def test_a_value_that_is_no_text_is_read_from_a_file(
    type: Any, content: str | None, words: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("items.json").write_text(content)
    context = Context([{"type": "input", "schema": {"properties": {"a": {"properties": {"items": {"type": type}}}}}}])
    if words is None:
        assert attached(context, ["a.items=@items.json"]) == ([f"a.items={content}"], [])
        return
    with pytest.raises(CommandError, match=f"^-i a.items: .*items.json.*{words}"):
        attached(context, ["a.items=@items.json"])


@pytest.mark.parametrize(("name", "words"), [("none.png", "can't be read"), ("what", "says what it is")])
def test_a_file_that_cannot_be_shown_is_a_wrong_command(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "what").write_bytes(b"?")
    with pytest.raises(CommandError, match=words):
        attached(Context(), [f"picture=@{tmp_path / name}"])


def test_a_run_is_given_a_picture(tmp_path: Path, picture: Path) -> None:
    plan = {"type": "plan", "plan": [{"_tool": "look"}], "output": "†calls.0"}
    (tmp_path / "own.py").write_text(
        "from actum import tools\n"
        '@tools.tool(_scopes=["image"])\n'
        "def look(context: object) -> list[str]:\n"
        '    """Look."""\n'
        '    return [message["name"] for message in context]\n'
    )
    idea = {"config": {"activities": ["own.py"]}, "context": [plan], "schema": {}}
    (tmp_path / "idea.json").write_text(json.dumps(idea))
    done = actum("run", "idea.json", "-q", "-i", f"picture=@{picture.name}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, '["picture"]\n'), done.stderr


async def test_show_names_it_with_size_and_digest(
    tmp_path: Path, picture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idea = tmp_path / "idea.json"
    idea.write_text(json.dumps({"context": [{"type": "image", "path": picture.name}], "schema": {}}))
    assert await actum_show(str(idea), messages=True) == 0
    printed = capsys.readouterr().out
    assert f"¶image photo.png\n(image/png, {len(PNG)} bytes, sha256 {DIGEST})" in printed
    assert DATA not in printed


@pytest.mark.rule("L6")
@pytest.mark.parametrize("source", [{"data": DATA}, {"path": "photo.png"}])
def test_who_approves_is_told_its_size_and_digest(picture: Path, source: dict[str, str]) -> None:
    call = Call({"_tool": "look"})
    tool = parse_tool({"type": "object"}, "look")
    context = Context([{"type": "image", **source}])
    question = "\n".join(asked_lines(Asked.about(call, call), tool, context, [picture.parent]))
    assert f'"size":{len(PNG)},"sha256":"{DIGEST}"' in question
    assert DATA not in question


LOOKING = """
from actum import tools
@tools.tool(_scopes=["image"])
def look(context: object) -> int:
    "Look."
    return 1
"""


@pytest.mark.rule("L6")
@pytest.mark.parametrize("source", [{"data": DATA}, {"path": "photo.png"}], ids=["data", "path"])
def test_a_kept_run_tells_it_of_what_waits_and_when_it_is_resumed(picture: Path, source: dict[str, str]) -> None:
    folder = picture.parent
    (folder / "own.py").write_text(LOOKING)
    plan = {"type": "plan", "plan": [{"_tool": "look"}], "output": "†calls.0"}
    idea = {"config": {"activities": ["own.py"]}, "context": [{"type": "image", **source}, plan], "schema": {}}
    (folder / "idea.json").write_text(json.dumps(idea))
    assert actum("run", "idea.json", "-q", "--approve", "hold", "--save", "run.json", cwd=folder).returncode == 3
    digested = f'"size":{len(PNG)},"sha256":"{DIGEST}"'
    waits = actum("waiting", "run.json", cwd=folder)
    assert (waits.returncode, digested in waits.stdout, DATA in waits.stdout) == (0, True, False), waits.stderr
    with terminal("resume", "run.json", "--approve", "ask", cwd=folder) as screen:
        question = screen.until("[e]dit: ").replace("\r\n", "")
        assert (digested in question, DATA in question) == (True, False)
        screen.type("y")
        assert screen.wait() == 0
