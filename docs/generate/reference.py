"""The pages of docs/reference, by what the code knows: written anew, or only compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import commands
import costs
import environment
import failures
import language
import python
import signature_types
import toolwords

import ideas

PAGES: Mapping[str, Callable[[], str]] = {
    "api.md": python.names_page,
    "modules.md": python.modules_page,
    "types.md": signature_types.page,
    "ideas.md": ideas.format_page,
    "config.md": ideas.config_page,
    "messages.md": ideas.messages_page,
    "tools.md": toolwords.page,
    "expressions.md": language.page,
    "cli.md": commands.page,
    "errors.md": failures.page,
    "events.md": python.events_page,
    "environment.md": environment.page,
    "costs.md": costs.page,
}
FOLDER = Path(__file__).parents[1] / "reference"
NOTE = "<!-- Made by `make reference` from the code: change it there. -->\n\n"


def written() -> dict[str, str]:
    """Every page by its name, as the code says it now."""
    return {name: NOTE + make().rstrip() + "\n" for name, make in PAGES.items()}


def stale(made: Mapping[str, str], folder: Path = FOLDER) -> list[str]:
    """The pages that are not what the code says."""
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md") if path.name != "index.md"}
    return sorted(name for name in made.keys() | written.keys() if made.get(name) != written.get(name))


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` only say which are stale."""
    made = written()
    old = stale(made)
    if "--check" in arguments:
        print(*(f"docs/reference/{name} is stale: make reference\n" for name in old), sep="", end="")
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name in old:
        if name in made:
            (FOLDER / name).write_text(made[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0
