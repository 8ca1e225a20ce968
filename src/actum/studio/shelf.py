"""The Ideas of a folder, listed and opened by their paths below it."""

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
"""How many characters of an Idea's description a list shows."""
_TEXT_KINDS = frozenset({"text", "system", "user"})
_TEXT_KEYS = ("text", "message")
_SKIPPED = {"node_modules", "out", "dist", "build", "__pycache__", "runs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaListed:
    """An Idea of the list; `problem` says why it can't be read."""

    key: str
    about: str = ""
    version: str = ""
    has_plan: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalListed:
    """A saved eval; `at` is when, in seconds since the epoch."""

    key: str
    folder: Path
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Ideas of a folder, and Ideas that are served under a name."""

    folder: Path | None = None
    named: Mapping[str, Idea] = field(default_factory=dict[str, Idea])

    def listed(self) -> list[IdeaListed]:
        """The Ideas by name. Files that aren't Ideas are left out; broken Ideas are listed with their problem."""
        ideas = [listed_as(name, idea) for name, idea in self.named.items()]
        for key, path in self._files():
            try:
                idea = Idea.load(path)
            except IdeaError as error:
                with suppress(OSError):  # the file is gone, or can't be read
                    if _looks_like_idea(path):
                        ideas.append(IdeaListed(key=key, problem=error.message))
                continue
            except (ActumError, OSError):
                continue
            if RUN not in idea.meta:
                ideas.append(listed_as(key, idea))
        return ideas

    def open(self, key: str) -> Idea:
        """The Idea with a name of the list.

        Raises:
            IdeaError: it isn't there, or can't be read.
        """
        if key in self.named:
            return self.named[key]
        if (path := self.file(key)) is None:
            raise IdeaNotFound(f"the Idea {key} wasn't found")
        return Idea.load(path)

    def file(self, key: str) -> Path | None:
        """The file of an Idea, None for one that is served under a name."""
        return None if key in self.named else next((path for name, path in self._files() if name == key), None)

    def evals(self) -> list[EvalListed]:
        """The saved evals below the folder, the newest first."""
        evals = [
            EvalListed(key=key.rstrip("/"), folder=folder, at=(folder / EVAL).stat().st_mtime)
            for folder, key, names in self._walk(_SKIPPED - {"out"})
            if key and EVAL in names and _is_own_file(folder / EVAL)
        ]
        return sorted(evals, key=lambda saved: (-saved.at, saved.key))

    def eval(self, key: str) -> Path:
        """The folder of a saved eval.

        Raises:
            IdeaError: there is none.
        """
        folder = next((item.folder for item in self.evals() if item.key == key), None)
        if folder is None:
            raise IdeaNotFound(f"the eval {key} wasn't found")
        return folder

    @property
    def roots(self) -> Sequence[Path]:
        """The folders of the Ideas."""
        return [] if self.folder is None else [self.folder]

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files that may be Ideas, by their paths below the folder; links aren't followed."""
        count = 0
        for folder, key, names in self._walk(_SKIPPED):
            for name in sorted(names):
                path = folder / name
                if not name.endswith(_SUFFIXES) or not _is_own_file(path):
                    continue
                count += 1
                if count > _MOST_FILES:
                    return
                yield f"{key}{name}", path

    def _walk(self, skipped: Collection[str]) -> Iterator[tuple[Path, str, Sequence[str]]]:
        """Each folder, the prefix of its files' keys, and the names of its files; links aren't followed."""
        for at, folders, names in os.walk(self.folder) if self.folder is not None else ():
            folder = Path(at)
            parts = folder.relative_to(self.folder or folder).parts
            folders[:] = sorted(
                name for name in folders if name[0] != "." and name not in skipped and len(parts) < _MOST_DEPTH
            )
            yield folder, "".join(f"{part}/" for part in parts), names


def _is_own_file(path: Path) -> bool:
    """Whether it is a regular file that isn't too large; reading a pipe, for example, would never end."""
    try:
        status = path.lstat()
    except OSError:  # it was deleted meanwhile
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= _MOST_BYTES


def _looks_like_idea(path: Path) -> bool:
    """Whether a file that can't be read as an Idea looks like one."""
    with path.open("rb") as file:
        return b'"context"' in file.read(4_096)


def listed_as(key: str, idea: Idea, version: str | None = None) -> IdeaListed:
    """An Idea as it is listed; `version` is by default its own."""
    shown = str(idea.meta.get("version", "")) if version is None else version
    has_plan = idea.solution is not None or any(message.get("type") == "plan" for message in idea.context)
    return IdeaListed(key=key, about=clip(description_of(idea), _LONGEST), version=shown, has_plan=has_plan)


def description_of(idea: SavedIdea) -> str:
    """An Idea's description, else its first text for the model; empty if it has neither."""
    description = idea.meta.get("description")
    texts = (message.get(key) for message in idea.context if message.get("type") in _TEXT_KINDS for key in _TEXT_KEYS)
    return next((text.strip() for text in (description, *texts) if isinstance(text, str) and text.strip()), "")
