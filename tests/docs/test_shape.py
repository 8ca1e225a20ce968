"""`make shape` measures what it says: a package made for the purpose has known numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from ..effort import thorough

ROOT = Path(__file__).parents[2]
SHAPE = ROOT / "docs" / "shape"
LONG = "def long() -> None:\n" + '    """Count."""\n' + "    print()\n" * 51
SOURCES = {
    "__init__.py": "",
    # Three files import each other: eagerly, for types only, and inside a function.
    "first.py": "from . import second\n\n\ndef enter() -> None:\n    second.follow()\n",
    "second.py": """
        from typing import TYPE_CHECKING, cast  # the only comment

        if TYPE_CHECKING:
            from .inner.third import Third


        def follow() -> "Third":
            return cast("Third", None)
        """,
    "inner/__init__.py": "",
    "inner/third.py": """
        class Third:
            def one(self) -> None:
                from ..first import enter

            async def two(self) -> None: ...
        """,
    "walk.py": """
        MAPS = ("properties", "patternProperties", "$defs")
        COLOURS = ("red", "green", "blue")


        def walk(schema):
            return [walk(schema[key]) for key in MAPS]


        def flat(schema):
            return schema["anyOf"], schema["allOf"]


        class Writer:
            def node(self, schema):
                return self.union(schema)

            def union(self, schema):
                return [self.node(one) for one in schema["anyOf"] + schema["oneOf"]]


        class Reader:
            def node(self, schema):
                return schema["not"], schema["if"]
        """,
    # Names that other modules have, too; what is private, nested or twice in one module isn't counted.
    "execution/calls/long.py": """
        class Writer:
            def flat(self): ...

        def follow(): ...

        def _walk(): ...

        if True:
            def walk(): ...
        """,
    "execution/calls/other.py": "from . import long\n\nlong.follow()\n",
    "long.py": LONG,
    "short.py": LONG.replace("    print()\n", "", 1).replace("long", "short"),
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    for name, text in SOURCES.items():
        path = tmp_path / "tiny" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip(), encoding="utf-8")
    return tmp_path / "tiny"


def shape(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(SHAPE), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)


def cells(printed: str) -> dict[str, list[str]]:
    """The rows of a table by their names."""
    lines = [line.strip("| ").split(" | ") for line in printed.splitlines() if line.startswith("| ")]
    return {line[0]: line[1:] for line in lines}


def test_a_package_with_known_numbers_is_measured_right(tiny: Path) -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tiny.rglob("*.py"))
    assert cells(shape(tiny).stdout) == {
        "tiny": [],
        "---": ["---"],
        "files": ["10"],
        "lines": [str(lines)],
        "lines of code": ["137"],
        "lines with a comment": [f"{100 / lines:.1f} %"],
        "bodies over 50 lines": ["1"],
        "files over 450 lines": ["0"],
        "classes over 20 methods": ["0"],
        "most methods in one class": ["`Third` 2 (5 lines)"],
        "class names in several modules": ["1"],
        "function names in several modules": ["1"],
        "names of several modules": ["1"],
        "largest cycle of imports, all counted": ["30.0 % (3 files)"],
        "imports inside `execution/calls`": ["1"],
        "`cast(` per 1,000 lines": [f"{1000 / lines:.1f}"],
        "walks over JSON Schema": ["2"],
        "tables of JSON Schema's keywords": ["1"],
        "files met from an answer's text to its output": ["–"],
    }


def test_what_was_counted_is_named(tiny: Path) -> None:
    listed = [line for line in shape(tiny, "--list").stdout.splitlines() if line.startswith("- ")]
    assert listed == [
        "- tiny.long.long",
        "- Writer: tiny.execution.calls.long, tiny.walk",
        "- follow: tiny.execution.calls.long, tiny.second",
        "- long: tiny.execution.calls.long, tiny.long",
        *("- tiny.first", "- tiny.inner.third", "- tiny.second"),
        "- tiny.execution.calls.other → tiny.execution.calls.long",
        "- tiny.second:8",
        *("- tiny.walk: walk", "- tiny.walk: node, union", "- tiny.walk.MAPS"),
    ]


def test_two_packages_are_shown_side_by_side_under_the_names_given(tiny: Path) -> None:
    printed = shape(f"before={tiny}", f"after={tiny}").stdout.splitlines()
    assert printed[0] == "|  | before | after |"
    assert {len(line.split("|")) for line in printed} == {5}


def test_a_run_meets_the_files_it_enters_between_its_beginning_and_its_end(tiny: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.py"
    run.write_text(
        dedent("""
        import threading
        from tiny import first, second
        from tiny.inner.third import Third

        def run(begin, end):
            second.follow()
            begin()
            Third().one()
            other = threading.Thread(target=first.enter)
            other.start()
            other.join()
            end()
            from tiny import walk
            walk.flat({"anyOf": 1, "allOf": 2})
        """),
        encoding="utf-8",
    )
    done = shape(tiny, "--run", f"tiny={run}", "--list")
    assert cells(done.stdout)["files met from an answer's text to its output"] == ["3"]
    assert done.stdout.splitlines()[-3:] == ["- inner/third.py", "- first.py", "- second.py"]


def test_a_folder_without_python_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = shape(tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "no Python files" in done.stderr


def test_a_page_names_what_its_table_shows_and_gets_the_new_numbers(tiny: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Shape\n\n<!-- shape: now={tiny} -->\nold\n<!-- /shape -->\n\nThe end.\n", encoding="utf-8")
    assert shape("--page", page).returncode == 0
    once = page.read_text(encoding="utf-8")
    assert cells(once) == cells(shape(f"now={tiny}").stdout)
    assert ("old" in once, once.startswith("# Shape\n"), once.endswith("\n\nThe end.\n")) == (False, True, True)
    shape("--page", page)
    assert page.read_text(encoding="utf-8") == once


def test_a_page_without_a_table_is_refused_in_a_sentence(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Shape\n", encoding="utf-8")
    done = shape("--page", page)
    assert (done.returncode, "Traceback" in done.stderr, "no table" in done.stderr) == (2, False, True)


def test_a_package_is_measured_as_it_was_at_a_commit(tiny: Path, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "--quiet"], ["add", "tiny"], ["commit", "--quiet", "-m", "Once"]):
        subprocess.run([*git, *words], check=True, capture_output=True, timeout=60)
    (tiny / "long.py").unlink()
    words = [sys.executable, str(SHAPE), "before=tiny@HEAD", "after=tiny"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert cells(done.stdout)["files"] == ["10", "9"]


def test_the_page_on_the_design_shows_what_is_measured(tiny: Path) -> None:
    figures = cells((ROOT / "docs" / "design.md").read_text(encoding="utf-8").partition("<!-- shape: ")[2])
    assert [*figures][1:] == [*cells(shape(tiny).stdout)][1:]


def test_a_measure_over_its_budget_is_named_and_ends_it(tiny: Path, tmp_path: Path) -> None:
    goals = tmp_path / "goals.toml"
    goals.write_text('["bodies over 50 lines"]\ngoal = 0\n\n["files over 450 lines"]\ngoal = 0\n', encoding="utf-8")
    done = shape(tiny, "--goals", goals)
    assert (done.returncode, cells(done.stdout)["bodies over 50 lines"]) == (1, ["1", "0"])
    assert done.stderr == "bodies over 50 lines: 1, and no more than 0 are allowed (--list names them)\n"
    goals.write_text('["bodies over 50 lines"]\ngoal = 0\nbudget = 1\n', encoding="utf-8")
    assert shape(tiny, "--goals", goals).returncode == 0


@thorough
def test_actum_keeps_its_budgets() -> None:
    run, goals = f"actum={SHAPE / 'one_answer.py'}", SHAPE / "goals.toml"
    done = shape(ROOT / "src" / "actum", "--run", run, "--goals", goals)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(cells(done.stdout)["files met from an answer's text to its output"][0]) > 10


def test_no_line_of_a_page_a_style_or_a_script_is_longer_than_one_of_python() -> None:
    folders = (ROOT / "src" / "actum", ROOT / "docs" / "site", ROOT / "interop")
    files = [
        path for folder in folders for path in folder.rglob("*.*") if path.suffix in {".html", ".css", ".js", ".mjs"}
    ]
    assert len(files) > 20
    lines = [(file, *line) for file in files for line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1)]
    assert [f"{file.relative_to(ROOT)}:{number}" for file, number, line in lines if len(line) > 120] == []
