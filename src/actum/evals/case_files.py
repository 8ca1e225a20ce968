"""Cases from files: runs that are kept, JSON lines, YAML, and tables (V5, V6)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from ..app.idea import Idea
from ..errors import ActumError
from ..ideas.file import parse_text
from ..ideas.layout import item_lines
from ..inspection.account import Account, account_of
from ..protocol.context import Context
from ..schema.json import Json, JsonObject, NotJson, decode, decoded, encode, is_list, is_object
from ..schema.types import Type
from ..schema.validator import Validator
from ..sources.files import read_text
from .case import Case, parsed_case
from .complaints import RECORDED, Complaint
from .judged import unfit_of
from .sampling import sampled


@dataclass(frozen=True, kw_only=True)
class CaseReader:
    """Reads what `cases` of an eval names, of an Idea that is called `name`; paths start from `folder`.

    With `takes_input_alone` a run may be of another Idea, and its input alone counts; with `expects_recorded` a run's
    output is what its case expects.
    """

    idea: Idea
    name: str
    folder: Path
    types: Mapping[str, Type]
    """Those of what expressions refer to."""
    judge: Callable[[Case, Complaint], None]
    """Notes what else is wrong with a case."""
    takes_input_alone: bool = False
    expects_recorded: bool = False
    _inputs: list[Validator] = field(default_factory=list[Validator])

    def read(self, named: Json, wrong: Complaint, name: str = "") -> Iterator[Case]:
        """The cases that one item names: a file, several of them by a pattern, or the case itself, which has a name
        or this one."""
        if is_object(named) and "runs" in named:
            reader = self._as_told(named)
            drop: Any = named.get("drop", [])
            for one, run in sampled(named, self.types, wrong):
                for case in reader._of_run(run, {"name": one}, Complaint(f"run {one}", wrong.noted)):
                    yield replace(case, dropped=list(_texts_at(case, drop, wrong.at("drop"))))
        elif isinstance(named, str):
            for path in self._paths(named, wrong):
                noted, found = len(wrong.noted), list(self._in_file(path, wrong))
                if not found and len(wrong.noted) == noted:
                    wrong(f"{path.name} holds no case")
                yield from found
        else:
            yield from self._case(named, name, wrong)

    def _paths(self, named: str, wrong: Complaint) -> list[Path]:
        found = sorted(glob(named, root_dir=self.folder)) if has_magic(named) else [named]
        paths = [path for one in found if (path := self.folder / one).is_file()]
        if not paths:
            wrong(f"there is no file {named}")
        return paths

    def _in_file(self, path: Path, wrong: Complaint) -> Iterator[Case]:
        name = str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
        own = Complaint(name, wrong.noted)
        try:
            text = read_text(path).removeprefix("\ufeff")
            match path.suffix:
                case ".jsonl":
                    yield from self._lines(text, path.stem, own)
                case ".csv":
                    yield from self._table(text, path.stem, own)
                case ".yaml" | ".yml":
                    yield from self._list(parse_text(text, name), text, path.stem, own)
                case _:
                    yield from self._of_run(Idea.load(path), {"name": path.stem}, own)
        except (ActumError, NotJson) as error:
            told = error.message if isinstance(error, ActumError) else str(error)
            said = (told.removeprefix(one) for one in (str(path), name, path.name) if told.startswith(f"{one}:"))
            own.noted.append(f"{name}{next(said, f': {told}')}")

    def _lines(self, text: str, stem: str, wrong: Complaint) -> Iterator[Case]:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                own = Complaint(f"{wrong.where}:{number}", wrong.noted)
                try:
                    told = decode(line)
                except NotJson as error:
                    own(str(error))
                    continue
                yield from self._case(told, f"{stem}-{number}", own)

    def _list(self, told: Json, text: str, stem: str, wrong: Complaint) -> Iterator[Case]:
        listed: Any = told.get("cases") if is_object(told) else told
        if not is_list(listed):
            wrong("cases are a list")
            return
        for number, (one, line) in enumerate(zip(listed, item_lines(text, "cases"), strict=True), 1):
            yield from self._case(one, f"{stem}-{number}", Complaint(f"{wrong.where}:{line}", wrong.noted))

    def _table(self, text: str, stem: str, wrong: Complaint) -> Iterator[Case]:
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            named = Counter(rows.fieldnames or ())
            if twice := [column for column, count in named.items() if count > 1]:
                wrong.noted.append(f"{wrong.where}:1: it names {', '.join(map(repr, twice))} twice")
                return
            for number, row in enumerate(rows, 2):
                own = Complaint(f"{wrong.where}:{rows.line_num}", wrong.noted)
                if None in row or None in row.values():
                    own("it has more cells, or fewer, than the first line names")
                    continue
                told: JsonObject = {"name": f"{stem}-{number}"}
                columns = [(column.split("."), cell) for column, cell in row.items() if cell]
                if all(self._is_put(told, column, cell, own) for column, cell in columns):
                    yield from self._case(told, f"{stem}-{number}", own)
        except csv.Error as error:
            wrong.noted.append(f"{wrong.where}:{rows.line_num}: {error}")

    def _is_put(self, told: JsonObject, column: list[str], cell: str, wrong: Complaint) -> bool:
        """Put a cell where its column says, read as the type that the schemas have there; False where none can be."""
        *way, last = column
        at: Any = told
        for key in way:
            at = at.setdefault(key, {}) if is_object(at) else at
        if not is_object(at) or is_object(at.get(last)):
            wrong(f"{'.'.join(column)}: another column says what it is a part of, or holds")
            return False
        types = self._types_at(column)
        at[last] = cell.split() if column == ["tags"] else cell if "string" in types else decoded(cell, cell)
        return True

    def _types_at(self, column: list[str]) -> Sequence[str]:
        """The types that the schemas have where a column says, if they do; a column of one word is text."""
        root: Any = self._input if column[0] == "input" else self.idea.text.schema if column[0] == "expect" else None
        for key in column[1:]:
            root = root.get("properties", {}).get(key) if is_object(root) else None
        types: Any = "string" if len(column) == 1 else root.get("type", []) if is_object(root) else []
        return [types] if isinstance(types, str) else types

    def _case(self, told: Json, name: str, wrong: Complaint) -> Iterator[Case]:
        path: Any = told.get("run") if is_object(told) else None
        if not is_object(told) or path is None:
            case = parsed_case(told, wrong)
            yield from self._judged(case, name, wrong)
            return
        reader = self._as_told(told)
        is_recorded = told.get("expect") == RECORDED
        left = {"run", "take", "expect"} if is_recorded else {"run", "take"}
        own = {key: value for key, value in told.items() if key not in left}
        try:
            run = Idea.load(self.folder / str(path))
        except ActumError as error:
            wrong.at("run")(error.message)
            return
        yield from reader._of_run(run, {"name": Path(str(path)).stem, **own}, wrong)

    def _as_told(self, told: JsonObject) -> CaseReader:
        """The reader for runs that are named with what to take of them."""
        return replace(
            self,
            takes_input_alone=self.takes_input_alone or told.get("take") == "input",
            expects_recorded=self.expects_recorded or told.get("expect") == RECORDED,
        )

    def _of_run(self, run: Idea, own: JsonObject, wrong: Complaint) -> Iterator[Case]:
        """A run as a case: its input and what else it was given, its results as the first record."""
        try:
            account = account_of(run, wrong.where)
        except ActumError as error:
            wrong.noted.append(error.message)
            return
        if (unfit := unfit_of(account)) is not None:
            wrong(unfit)
            return
        if not (self._is_of_idea(run) or self.takes_input_alone):
            other = "another Idea" if run.source is None else f'"{run.source.name}"'
            wrong(f'a run of {other}, not of "{self.name}"; `take: input` takes its input alone')
            return
        given = Context.checked(account.given, run.context.data_kinds, run.context.origin)
        told: JsonObject = {"input": given.data.get("input")} if given.data.get("input") else {}
        if not self.takes_input_alone:
            told["messages"] = self._beyond_idea(account)
        if self.expects_recorded and account.output is not None:
            told["expect"] = account.output
        record = None if self.takes_input_alone and not self._is_of_idea(run) else run
        yield from self._judged(parsed_case({**told, **own}, wrong, record), str(own["name"]), wrong)

    def _is_of_idea(self, run: Idea) -> bool:
        mine, path = self.idea.source or self.idea.file, run.source
        if mine is None or path is None:
            return True
        return mine.resolve() == path.resolve() or mine.name == path.name

    def _beyond_idea(self, account: Account) -> list[JsonObject]:
        """What a run was given that is neither its input nor of the Idea itself, as that is now or was then.

        Where the Idea has messages that the run was not given, as many of their kind in the run are what stood there.
        """
        given = {encode(message, sort_keys=True) for message in account.given}
        own = {encode(message, sort_keys=True) for message in self.idea.context}
        changed = Counter(str(one["type"]) for one in self.idea.context if encode(one, sort_keys=True) not in given)
        beyond: list[JsonObject] = []
        for message in account.given:
            if message["type"] in {"input", "meta", "plan"} or encode(message, sort_keys=True) in own:
                continue
            if changed[message["type"]]:
                changed[message["type"]] -= 1
            else:
                beyond.append(message)
        return beyond

    def _judged(self, case: Case | None, name: str, wrong: Complaint) -> Iterator[Case]:
        if case is None:
            return
        if (case.input is not None or not case.messages) and (complaint := self._misfit(case.input or {})):
            wrong.at("input")(complaint) if complaint[0] in "\"'{[" else wrong(f"input.{complaint}")
            return
        self.judge(case, wrong)
        yield case if case.name else replace(case, name=name)

    def _misfit(self, given: JsonObject) -> str | None:
        if not self._inputs:
            self._inputs.append(Validator(self._input))
        return self._inputs[0].complaint(given)

    @property
    def _input(self) -> JsonObject:
        """The schema of the Idea's input."""
        tool = self.idea.as_tool("case")
        return {**tool.parameters}


def _texts_at(case: Case, paths: Any, wrong: Complaint) -> Iterator[str]:
    """What stands in a case's input at the paths that are to be dropped: texts, which can be cut out wherever they are.

    Anything else there is told, since it would stay.
    """
    for path in paths if is_list(paths) else [paths]:
        kind, *keys = str(path).split(".")
        found: Any = case.input if kind == "input" else None
        for key in keys:
            found = found.get(key) if is_object(found) else None
        if isinstance(found, str) and found:
            yield found
        elif found is not None:
            wrong(f"{path} of {case.name} is not a text, and only texts can be cut out of a case")
