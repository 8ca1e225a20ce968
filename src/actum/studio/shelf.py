"""The Ideas of a folder, as the Studio lists and opens them: by their paths below it, and by no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..app.idea import Idea
from ..app.saved import SavedIdea
from ..dataflow.reference import clip
from ..errors import ActumError, IdeaError, IdeaNotFound
from ..evals.verdicts import EVAL
from ..ideas.ticks import RUN

_SUFFIXES = (".json", ".yaml", ".yml")
_MOST_FILES = 2_000
_MOST_DEPTH = 6
_MOST_BYTES = 20_000_000
_LONGEST = 200
"""How many characters of what an Idea is for a list has."""
_TEXT_KINDS = frozenset({"text", "system", "user"})
_TEXT_KEYS = ("text", "message")
_SKIPPED = {"node_modules", "out", "dist", "build", "__pycache__", "runs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaListed:
    """An Idea of the list; `problem` says why one can't be read."""

    key: str
    about: str = ""
    version: str = ""
    has_plan: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalListed:
    """An eval that was saved, and when, in seconds since the epoch."""

    key: str
    folder: Path
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Where Ideas are: a folder, and those that are served under a name."""

    folder: Path | None = None
    named: Mapping[str, Idea] = field(default_factory=dict[str, Idea])

    def listed(self) -> list[IdeaListed]:
        """The Ideas, by name. A JSON file that isn't an Idea is left out; one that can't be read says so."""
        ideas = [listed_as(name, idea) for name, idea in self.named.items()]
        for key, path in self._files():
            try:
                idea = Idea.load(path)
            except IdeaError as error:
                with suppress(OSError):  # which is gone, or isn't ours to read
                    if _looks_like_idea(path):
                        ideas.append(IdeaListed(key=key, problem=error.message))
                continue
            except (ActumError, OSError):
                continue
            if RUN not in idea.meta:
                ideas.append(listed_as(key, idea))
        return ideas

    def open(self, key: str) -> Idea:
        """The Idea of a name of the list.

        Raises:
            IdeaError: it isn't there, or can't be read.
        """
        if key in self.named:
            return self.named[key]
        path = next((path for name, path in self._files() if name == key), None)
        if path is None:
            raise IdeaNotFound(f"the Idea {key} wasn't found")
        return Idea.load(path)

    def file(self, key: str) -> Path | None:
        """The file of an Idea, None for one that is served under a name."""
        return None if key in self.named else next((path for name, path in self._files() if name == key), None)

    def evals(self) -> list[EvalListed]:
        """The folders of evals below the folder, those that were saved last first."""
        evals = [
            EvalListed(key=key.rstrip("/"), folder=here, at=(here / EVAL).stat().st_mtime)
            for here, key, names in self._walk(_SKIPPED - {"out"})
            if key and EVAL in names and _is_own_file(here / EVAL)
        ]
        return sorted(evals, key=lambda found: (-found.at, found.key))

    def eval(self, key: str) -> Path:
        """The folder of an eval of that list.

        Raises:
            IdeaError: there is none.
        """
        folder = next((item.folder for item in self.evals() if item.key == key), None)
        if folder is None:
            raise IdeaNotFound(f"the eval {key} wasn't found")
        return folder

    @property
    def roots(self) -> Sequence[Path]:
        """The folders that the Ideas lie in."""
        return [] if self.folder is None else [self.folder]

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files that may be Ideas, by their paths below the folder; no link is followed out of it."""
        count = 0
        for here, key, names in self._walk(_SKIPPED):
            for name in sorted(names):
                path = here / name
                if not name.endswith(_SUFFIXES) or not _is_own_file(path):
                    continue
                count += 1
                if count > _MOST_FILES:
                    return
                yield f"{key}{name}", path

    def _walk(self, skipped: Collection[str]) -> Iterator[tuple[Path, str, Sequence[str]]]:
        """Each folder, what names of its files begin with, and the names in it; no link is followed."""
        for at, folders, names in os.walk(self.folder) if self.folder is not None else ():
            here = Path(at)
            parts = here.relative_to(self.folder or here).parts
            folders[:] = sorted(
                folder for folder in folders if folder[0] != "." and folder not in skipped and len(parts) < _MOST_DEPTH
            )
            yield here, "".join(f"{part}/" for part in parts), names


def _is_own_file(path: Path) -> bool:
    """Whether there is a plain file that isn't too large; a pipe, say, would never end."""
    try:
        status = path.lstat()
    except OSError:  # it went while the folder was read
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= _MOST_BYTES


def _looks_like_idea(path: Path) -> bool:
    """Whether a file that can't be read as an Idea looks like one."""
    with path.open("rb") as file:
        return b'"context"' in file.read(4_096)


def listed_as(key: str, idea: Idea, version: str | None = None) -> IdeaListed:
    """An Idea as it is listed; `version` is what it says of itself where nothing else is given."""
    shown = str(idea.meta.get("version", "")) if version is None else version
    return IdeaListed(key=key, about=clip(description_of(idea), _LONGEST), version=shown, has_plan=_has_plan(idea))


def description_of(idea: SavedIdea) -> str:
    """What an Idea is for: its own description, else the first that it says to the model; empty if it says nothing."""
    description = idea.meta.get("description")
    texts = (message.get(key) for message in idea.context if message.get("type") in _TEXT_KINDS for key in _TEXT_KEYS)
    return next((text.strip() for text in (description, *texts) if isinstance(text, str) and text.strip()), "")


def _has_plan(idea: Idea) -> bool:
    return idea.solution is not None or any(message.get("type") == "plan" for message in idea.context)
