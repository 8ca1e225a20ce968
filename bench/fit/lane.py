"""A lane: a list of tasks that one model carries out, kept in a folder so that it can be left and taken up at any time.

`out/fit/NAME/` holds `lane.json`, a folder for each loop with one for each task (see `exchange`), and the report.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actum.models import Model

from .exchange import Asked, Exchange, written
from .tasks import Name, Opening
from .trial import Loop, Outcome, carried_out

_NAME = re.compile(r"\w[\w.-]{0,80}")


class LaneError(Exception):
    """A lane can't be used as was asked; the message says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The request of a lane that waits for its answer."""

    task: Name
    number: int


@dataclass(frozen=True, slots=True)
class Lane:
    """The tasks of a lane by its folder."""

    folder: Path
    model: str
    tasks: Sequence[Name] = field(default_factory=list[Name])

    @property
    def name(self) -> str:
        """What the lane is called."""
        return self.folder.name

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep others out; the lock ends with the process, however that ends.

        Raises:
            LaneError: somebody else is at work in it.
        """
        from fcntl import LOCK_EX, LOCK_NB, flock

        with (self.folder / ".lock").open("w") as file:
            try:
                flock(file, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise LaneError(f"another command is at work in the lane {self.name!r}; wait until it ends") from None
            yield

    def exchange(self, loop: Loop, task: Name) -> Exchange:
        """What a task has asked and was answered so far."""
        return Exchange(self._folder(loop, task))

    def outcome(self, loop: Loop, task: Name) -> Outcome | None:
        """What came of a task, None if it isn't finished."""
        path = self._folder(loop, task) / "result.json"
        return Outcome.of(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def outcomes(self, loop: Loop) -> list[Outcome]:
        """What came of the tasks that are finished."""
        return [outcome for task in self.tasks if (outcome := self.outcome(loop, task)) is not None]

    def next(self, loop: Loop) -> Name | None:
        """The first task that isn't finished, None if all are."""
        return next(iter(self.left(loop)), None)

    def left(self, loop: Loop) -> list[Name]:
        """The tasks that aren't finished."""
        return [task for task in self.tasks if self.outcome(loop, task) is None]

    def keep(self, loop: Loop, task: Name, outcome: Outcome) -> None:
        """Keep what came of a task: it is finished."""
        written(self._folder(loop, task) / "result.json", _text(outcome.to_dict()))

    def standing(self, loop: Loop) -> list[Standing]:
        """The requests that were shown last and haven't been answered."""
        path = self._standing(loop)
        kept: list[Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return [Standing(task=Name(*entry["task"]), number=entry["number"]) for entry in kept]

    def stand(self, loop: Loop, standing: Sequence[Standing]) -> None:
        """Keep which requests wait."""
        written(self._standing(loop), _text([{"task": waiting.task, "number": waiting.number} for waiting in standing]))

    def malformed(self, loop: Loop, task: Name) -> int:
        """How many texts were given back in a task because they were no answers."""
        path = self._folder(loop, task) / "malformed"
        return len(path.read_text(encoding="utf-8")) if path.exists() else 0

    def count_malformed(self, loop: Loop, task: Name) -> None:
        """Count a text that was no answer."""
        with (self._folder(loop, task) / "malformed").open("a", encoding="utf-8") as file:
            file.write(".")

    def write(self, name: str, value: Any) -> None:
        """Write a file of the lane: a text as it is, anything else as JSON."""
        written(self.folder / name, value if isinstance(value, str) else _text(value))

    def _standing(self, loop: Loop) -> Path:
        return self.folder / loop / "standing.json"

    def _folder(self, loop: Loop, task: Name) -> Path:
        return self.folder / loop / f"{task.world}-{task.number}"


async def advanced(lane: Lane, loop: Loop, task: Name, opening: Opening, model: Model | None) -> Asked | None:
    """Carry out a task of a lane: None once it is finished, or else the request that waits for an answer.

    Raises:
        ModelError: as `carried_out`.
    """
    exchange = lane.exchange(loop, task)
    outcome = await carried_out(loop, task, opening(task), exchange, model)
    if outcome is None:
        return next(asked for number in exchange.reached if (asked := exchange.of(number)).answer is None)
    lane.keep(loop, task, replace(outcome, malformed=lane.malformed(loop, task)))
    return None


def opened(root: Path, name: str, model: str, tasks: Sequence[Name] | None, default: Sequence[Name]) -> Lane:
    """The lane of a name, begun with these tasks if there is none; without tasks, with what the default says.

    Raises:
        LaneError: the name is none for a folder, or the lane was begun with another model or other tasks.
    """
    if not _NAME.fullmatch(name):
        raise LaneError(f"{name!r} can't be the name of a lane: use letters, digits, '.', '_' and '-'")
    folder = root / name
    kept = existing(root, name)
    if kept is None:
        lane = Lane(folder, model, list(tasks if tasks is not None else default))
        if not lane.tasks:
            raise LaneError("a lane needs at least one task")
        written(folder / "lane.json", _text({"model": model, "tasks": lane.tasks}))
        return lane
    if kept.model != model:
        raise LaneError(f"the lane {name!r} is one of the model {kept.model!r}; begin another for {model!r}")
    if tasks is not None and list(tasks) != list(kept.tasks):
        has = f"{len(kept.tasks)} tasks, from {kept.tasks[0]} to {kept.tasks[-1]}"
        raise LaneError(f"the lane {name!r} was begun with other tasks ({has}); leave them out, or begin another lane")
    return kept


def existing(root: Path, name: str) -> Lane | None:
    """The lane of a name, None if there is none."""
    path = root / name / "lane.json"
    if not path.exists():
        return None
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Lane(root / name, kept["model"], [Name(*task) for task in kept["tasks"]])


def begun_anew(root: Path, name: str) -> None:
    """Drop what a lane holds, so that it is begun again.

    Raises:
        LaneError: somebody is at work in it.
    """
    lane = existing(root, name)
    if lane is not None:
        with lane.locked():
            shutil.rmtree(lane.folder)


def named_after(model: str) -> str:
    """The name of a lane for a model."""
    return re.sub(r"[^\w.-]+", "-", os.path.basename(model) or model).strip("-.")[:80] or "lane"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
