"""Ideas in a store, from the command line: saved, versioned, compared, branched, found again (X3, X4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum.schema.json import JsonObject as Json

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
    assert "is not a point in time" in say("resolve", "idea:people/ana", "--at", "yesterday", code=2)
    assert "'..' is not a name" in say("save", first, "idea:../x", code=2)


def test_a_folder_with_one_bad_idea_saves_none(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", "a.json", meta={})
    (tmp_path / "more" / "b.json").write_text("{")
    done = actum("import", "more", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "there is no store" in actum("resolve", "idea:a", cwd=tmp_path).stderr


@pytest.mark.rule("X2")
def test_a_folder_of_ideas_is_offered_as_tools(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    twice: dict[str, Any] = {
        "context": [
            {
                "type": "input",
                "schema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            },
            {"type": "plan", "plan": [], "output": "†input.x"},
        ],
        "schema": {"type": "integer"},
    }
    (tmp_path / "ideas" / "same.json").write_text(json.dumps(twice))
    plan: dict[str, Any] = {"type": "plan", "plan": [{"_tool": "same", "x": 5}], "output": "†calls.0"}
    (tmp_path / "main.json").write_text(json.dumps({"context": [plan], "schema": {"type": "integer"}}))
    assert actum("run", "main.json", "-q", "--tools", "ideas", cwd=tmp_path).stdout == "5\n"
    assert "no tool 'same'" in actum("run", "main.json", "-q", cwd=tmp_path).stderr
    empty = actum("run", "main.json", "-q", "--tools", "nowhere", cwd=tmp_path)
    assert (empty.returncode, "there is no Idea at nowhere" in empty.stderr) == (2, True)


@pytest.mark.rule("X4")
def test_an_idea_runs_by_its_address(tmp_path: Path) -> None:
    plan: dict[str, Any] = {"type": "plan", "plan": [], "output": "stored"}
    (tmp_path / "a.json").write_text(json.dumps({"context": [plan], "schema": {"type": "string"}}))
    assert actum("save", "a.json", "idea:team/a", cwd=tmp_path).returncode == 0
    assert actum("run", "idea:team/a?1", "-q", cwd=tmp_path).stdout == '"stored"\n'
    missing = actum("run", "idea:team/b", "-q", cwd=tmp_path)
    assert (missing.returncode, "there is no idea:team/b" in missing.stderr) == (2, True)


@pytest.mark.rule("D12")
def test_an_idea_from_a_url_runs_without_anything_local(tmp_path: Path) -> None:
    import functools
    import http.server
    import threading

    plan: dict[str, Any] = {"type": "plan", "plan": [], "output": "fetched"}
    pages: dict[str, Any] = {
        "good.json": {"context": [plan], "schema": {"type": "string"}},
        "greedy.json": {"context": [plan], "schema": {}, "config": {"activities": ["evil.py"]}},
        "file.json": {
            "context": [
                {"type": "tool", "tool": {"go": {"_delegate": "idea:good"}}},
                {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"},
            ],
            "schema": {},
            "config": {"grants": ["x"], "allow_hosts": ["127.0.0.1"]},
        },
        "costly.json": {"context": [], "schema": {}, "config": {"model": "openai:nothing"}},
    }
    (tmp_path / "web").mkdir()
    for name, page in pages.items():
        (tmp_path / "web" / name).write_text(json.dumps(page))
    (tmp_path / "good.json").write_text(json.dumps(pages["good.json"]))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path / "web")
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        top = f"http://127.0.0.1:{server.server_port}"
        assert actum("run", f"{top}/good.json", "-q", cwd=tmp_path).stdout == '"fetched"\n'
        greedy = actum("run", f"{top}/greedy.json", "-q", cwd=tmp_path)
        assert (greedy.returncode, "an Idea from outside can't name '" in greedy.stderr) == (2, True)
        costly = actum("run", f"{top}/costly.json", "-q", cwd=tmp_path)
        assert (costly.returncode, "can't name 'openai:nothing'" in costly.stderr) == (2, True)
        reaching = actum("run", f"{top}/file.json", "-q", cwd=tmp_path)
        assert (reaching.returncode, "can't reach 'idea:good'" in reaching.stderr) == (1, True), reaching.stderr
        absent = actum("run", f"{top}/absent.json", "-q", cwd=tmp_path)
        assert (absent.returncode, "there is nothing at" in absent.stderr) == (2, True)
        server.shutdown()
        thread.join()


@pytest.mark.rule("X4")
def test_what_schemas_refer_to_is_checked_shown_and_kept_with_the_run(tmp_path: Path) -> None:
    person: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
    plan: Json = {"type": "plan", "plan": [], "output": {"one": {"name": "Ana"}}}
    schema: Json = {"type": "object", "properties": {"one": {"$ref": "idea:person"}}}
    ideas: Json = {"main": {"context": [plan], "schema": schema}, "p": {"context": [], "schema": person}}
    for name, whole in ideas.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(whole), encoding="utf-8")
    lost = actum("check", "main.json", cwd=tmp_path)
    assert (lost.returncode, '{"$ref": "idea:person"}' in lost.stdout) == (2, True)
    assert lost.stdout.splitlines()[1].startswith("main.json:1:")
    environment = {"ACTUM_STORE": "ideas.db"}
    assert actum("save", "p.json", "idea:person", cwd=tmp_path, **environment).returncode == 0
    assert actum("check", "main.json", cwd=tmp_path, **environment).returncode == 0
    assert '"name"' in actum("show", "main.json", "--schema", cwd=tmp_path, **environment).stdout
    run = actum("run", "main.json", "-q", "--save", "run.json", cwd=tmp_path, **environment)
    assert (run.returncode, json.loads(run.stdout)) == (0, {"one": {"name": "Ana"}})
    kept = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert "idea:" not in json.dumps(kept["schema"]), "a kept run needs no store to go on"


_LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\ncontext: [*c]\n"
BAD_FILES: dict[str, tuple[str, bytes]] = {
    "truncated": ("bad.json", b'{"context": [{"type": "text", "te'),
    "of wrong types": ("bad.json", b'{"context": [], "meta": 3}'),
    "billion laughs": ("bad.yaml", _LAUGHS.encode()),
    "a key twice": ("bad.json", b'{"context": [], "meta": {"a": 1, "a": 2}}'),
    "a key twice in YAML": ("bad.yaml", b"context: []\nmeta: {a: 1, a: 2}\n"),
    "a way out of the store": ("bad.json", b'{"context": [], "meta": {"path": "../../x"}}'),
    "an absolute path": ("bad.json", b'{"context": [], "meta": {"path": "/etc/x"}}'),
    "binary": ("bad.json", bytes(range(256))),
}


@pytest.mark.rule("X1")
@pytest.mark.parametrize("store", ["sqlite:s.db", "folder"])
@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_line_and_the_store_stays_as_it_was(tmp_path: Path, store: str, case: str) -> None:
    good = tmp_path / "good.json"
    good.write_text('{"context": [], "schema": {"type": "string"}}', encoding="utf-8")
    assert actum("save", "good.json", "idea:good", "--store", store, cwd=tmp_path).returncode == 0
    before = actum("log", "idea:good", "--store", store, cwd=tmp_path).stdout
    name, content = BAD_FILES[case]
    (tmp_path / name).write_bytes(content)
    is_path = b"path" in content
    for command in (["save", name, *([] if is_path else ["idea:good"])], ["import", name]):
        refused = actum(*command, "--store", store, cwd=tmp_path)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused
        assert name in refused.stderr or "is not a name" in refused.stderr
    assert actum("log", "idea:good", "--store", store, cwd=tmp_path).stdout == before
    assert not (tmp_path.parent / "x").exists()


@pytest.mark.rule("X1")
def test_a_file_of_a_hundred_megabytes_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "bad.json").open("wb") as file:
        file.truncate(100_000_001)
    refused = actum("save", "bad.json", "idea:bad", "--store", "s.db", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "larger than" in refused.stderr
    assert not (tmp_path / "s.db").exists()


@pytest.mark.rule("X4")
@pytest.mark.parametrize("address", ["idea:../../x", "idea:a/../b", "idea:/etc/passwd", "idea:~../x", "idea://../x"])
@pytest.mark.parametrize("command", ["resolve", "log", "export", "save", "branch"])
def test_no_address_leads_out(tmp_path: Path, address: str, command: str) -> None:
    (tmp_path / "a.json").write_text('{"context": []}', encoding="utf-8")
    more = {"export": [address, "out.json"], "save": ["a.json", address], "branch": ["b", address]}
    refused = actum(command, *more.get(command, [address]), "--store", "folder", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "is not a name" in refused.stderr or "is not a domain" in refused.stderr
