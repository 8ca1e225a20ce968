"""Writing files: through links, with which mode, and what stays where writing fails."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Tools, errors, kept, models
from actum.cli.server_options import token_of
from actum.models import ModelRequest, Recording, Scripted

IDEA = Idea(context=Context("go"), schema={})
RUN = Idea(context=Context("go"), schema={}, meta={"run": {"id": "1"}})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def created(path: Path, mode: int = 0o644) -> Path:
    path.write_text("before", encoding="utf-8")
    path.chmod(mode)
    return path


def refused(idea: Idea, path: Any) -> str:
    with pytest.raises(errors.IdeaError) as caught:
        idea.save(path)
    return caught.value.message


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    created(inner / "idea.json")
    (tmp_path / "link.json").symlink_to("inner/through.json")
    (inner / "through.json").symlink_to("idea.json")
    (tmp_path / "new.json").symlink_to(inner / "made.json")
    for name in ("link.json", "new.json"):
        IDEA.save(tmp_path / name)
        assert (tmp_path / name).is_symlink()
    assert (inner / "through.json").is_symlink()
    assert Idea.load(inner / "idea.json").context == Idea.load(inner / "made.json").context == IDEA.context
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "Too many levels" in refused(IDEA, tmp_path / "loop")


def test_an_idea_keeps_its_mode_and_a_run_is_for_its_user_alone(tmp_path: Path) -> None:
    for before in (0o664, 0o640, 0o600):
        IDEA.save(created(tmp_path / "idea.json", before))
        RUN.save(created(tmp_path / "run.json", before))
        assert (mode(tmp_path / "idea.json"), mode(tmp_path / "run.json")) == (before, 0o600)
    IDEA.save(tmp_path / "new.json")
    assert mode(tmp_path / "new.json") == 0o600


async def test_logs_and_recordings_are_for_their_user_alone_also_where_they_were_not(tmp_path: Path) -> None:
    created(tmp_path / "run.json.log")
    await kept.start(tmp_path / "run.json", IDEA, Agent(Scripted([{"output": 1, "calls": []}]), tools=Tools()))
    (tmp_path / "recording.jsonl").touch(0o644)
    recording = Recording(Scripted(["x"]), tmp_path / "recording.jsonl")
    async for _ in recording.stream(ModelRequest(messages=(), schema={})):
        pass
    assert [mode(tmp_path / name) for name in ("run.json", "run.json.log", "recording.jsonl")] == [0o600] * 3


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make links of others")
async def test_a_link_of_somebody_else_in_a_shared_folder_is_not_followed(tmp_path: Path) -> None:
    victim = created(tmp_path / "precious")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "link").symlink_to(victim)
    os.lchown(shared / "link", 4_321, 4_321)
    for idea in (IDEA, RUN):
        assert "a link of another user" in refused(idea, shared / "link")
    with pytest.raises(errors.ModelError, match="a link of another user"):
        async for _ in Recording(models.Scripted(["x"]), shared / "link").stream(ModelRequest(messages=(), schema={})):
            pass
    os.chown(created(shared / "token", 0o600), 4_321, 4_321)
    with pytest.raises(errors.IdeaError, match="something of another user"):
        token_of(str(shared / "token"))
    assert victim.read_text(encoding="utf-8") == "before"
    shared.chmod(0o755)  # what its user alone may write to holds nothing that others have put there
    IDEA.save(shared / "link")
    assert Idea.load(victim).context == IDEA.context


@pytest.mark.parametrize("given", ["", 5, None, b"x", ["x"], "a\0b", "\ud800"])
def test_what_is_no_path_is_said(given: Any) -> None:
    for use in (IDEA.save, Idea.load, kept.waiting, kept.listed):
        with pytest.raises(errors.IdeaError, match="named by its path"):
            use(given)


def test_where_nothing_can_be_written_is_said_and_all_stays_as_it_was(tmp_path: Path) -> None:
    created(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = {
        "folder": "Is a directory; name a file in it",
        "file/x.json": "Not a directory; choose a place below a folder",
        "x" * 300: "File name too long; choose a shorter name",
        "pipe": "No such device",
    }
    for name, words in names.items():
        for idea in (IDEA, RUN):
            message = refused(idea, tmp_path / name)
            assert words in message
            assert str(tmp_path) in message
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "before"
    IDEA.save(tmp_path / ("x" * 250 + ".json"))


@pytest.mark.parametrize("name", ["x" * 300, "x" * 253, "loop", "file/x.json", "folder", "a\ud800"])
async def test_what_can_hold_no_run_and_no_recording_is_said(tmp_path: Path, name: str) -> None:
    created(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    before, path = sorted(os.listdir(tmp_path)), tmp_path / name
    agent = Agent(Scripted([{"output": 1, "calls": []}]), tools=Tools())
    for use in (kept.start(path, IDEA, agent), kept.resume(path, agent), kept.replay(path)):
        with pytest.raises(errors.IdeaError):
            await use
    for look in (kept.waiting, kept.approve, kept.deny, kept.listed, Idea.load):
        with pytest.raises(errors.IdeaError):
            look(path)
    assert models.Replay(path).dialect is None
    with pytest.raises(errors.ModelError):
        async for _ in models.Replay(path).stream(ModelRequest(messages=(), schema={})):
            pass
    assert sorted(os.listdir(tmp_path)) == before


FULL = """
import resource, signal, sys
from actum import Context, Idea, errors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    Idea(context=Context("x" * 50_000), schema={}).save(sys.argv[1])
except errors.IdeaError as error:
    print(error)
"""


def test_a_full_disk_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    path = created(tmp_path / "idea.json")
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"{path}: File too large; make room, or choose another place\n", done.stderr
    assert (path.read_text(encoding="utf-8"), os.listdir(tmp_path)) == ("before", ["idea.json"])


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no such device")
def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    device = tmp_path / "full"
    if os.geteuid() == 0:  # who could replace the system's gets one of its own
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    else:
        device.symlink_to("/dev/full")
    assert "No space left on device; make room" in refused(IDEA, device)
    assert device.is_char_device()


@pytest.mark.parametrize(
    ("name", "message"), [("folder", "Is a directory"), ("no/token", "No such file"), ("b", "UTF-8")]
)
def test_a_file_of_tokens_that_can_not_be_used_is_said(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "b").write_bytes(b"\xff")
    (tmp_path / "b").chmod(0o600)
    with pytest.raises(errors.ActumError, match=message):
        token_of(str(tmp_path / name))
