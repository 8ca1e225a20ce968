"""Ideas in a store, from the command line: saved, versioned, compared, branched, found again (X3, X4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .test_commands import actum

pytestmark = pytest.mark.rule("X3", "X4")


def write(folder: Path, name: str, **parts: Any) -> str:
    whole: dict[str, Any] = {"meta": {"path": "people/ana"}, "context": [], "schema": {"type": "string"}, **parts}
    (folder / name).write_text(json.dumps(whole), encoding="utf-8")
    return name


@pytest.mark.parametrize("store", ["ideas.db", "ideas"])
def test_the_life_of_an_idea(tmp_path: Path, store: str) -> None:
    def say(*arguments: str, code: int = 0) -> str:
        done = actum(*arguments, cwd=tmp_path, ACTUM_STORE=store)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        return done.stdout if code == 0 else done.stderr

    first = write(tmp_path, "ana.json")
    assert say("save", first).startswith("idea:~main/people/ana?1.0.0")
    assert "nothing changed" in say("save", first)
    answered = write(tmp_path, "answered.json", solution={"output": "x"})
    assert say("save", answered).splitlines() == ["idea:~main/people/ana?1.0.1", "  solution: the solution changes"]
    wider = write(tmp_path, "wider.json", schema={"type": ["string", "null"]})
    assert "breaks readers" in say("diff", "idea:people/ana", wider)
    assert say("save", wider, "--note", "null, too").splitlines()[0] == "idea:~main/people/ana?2.0.0"
    assert say("resolve", "idea:people/ana?1").strip() == "idea:~main/people/ana?1.0.1"
    log = say("log", "idea:people/ana")
    assert [line.split("?")[1].split(" ")[0] for line in log.splitlines()] == ["2.0.0", "1.0.1", "1.0.0"]
    assert "null, too" in log
    moment = log.splitlines()[1].split()[1]
    assert say("resolve", "idea:people/ana", "--at", moment).strip() == "idea:~main/people/ana?1.0.1"
    assert say("branch", "dev", "idea:people/ana?1.0.0").strip() == "idea:~dev/people/ana?1.0.0"
    assert (
        say("resolve", "idea:people/ana", "--search", "dev", "--search", "main")
        .strip()
        .endswith("~dev/people/ana?1.0.0")
    )
    assert say("promote", "idea:~dev/people/ana").splitlines()[0] == "idea:~main/people/ana?2.1.0"
    assert say("export", "idea:people/ana?1.0.1", "out.json").strip() == "idea:~main/people/ana?1.0.1"
    exported = json.loads((tmp_path / "out.json").read_text())
    assert exported["meta"] == {"path": "people/ana", "version": "1.0.1", "branches": ["main"]}
    assert exported["solution"] == {"output": "x"}
    content = (tmp_path / "out.json").read_bytes()
    say("export", "idea:people/ana?1.0.1", "again.json")
    assert (tmp_path / "again.json").read_bytes() == content
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", "bo.json", meta={})
    write(tmp_path / "more", "cy.json", meta={})
    assert say("import", "more").splitlines()[::2] == ["idea:~main/bo?1.0.0", "idea:~main/cy?1.0.0"]
    assert "there is no idea:nobody" in say("resolve", "idea:nobody", code=2)
    assert "is no moment" in say("resolve", "idea:people/ana", "--at", "yesterday", code=2)
    assert "'..' is no name" in say("save", first, "idea:../x", code=2)


def test_a_folder_with_one_bad_idea_saves_none(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", "a.json", meta={})
    (tmp_path / "more" / "b.json").write_text("{")
    done = actum("import", "more", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "there is no idea:a" in actum("resolve", "idea:a", cwd=tmp_path).stderr
