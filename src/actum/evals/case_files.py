"""Cases from files: kept runs, JSON lines, YAML, and tables (V5, V6)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from ..app.idea import Idea
from ..errors import ActumError
from ..ideas.file import parse_text
from ..ideas.layout import item_lines
from ..inspection.account import Account, account_of
from ..schema.json import Json, JsonObject, NotJson, decode, decoded, encode, is_list, is_object
from ..schema.types import Type
from ..schema.validator import Validator
from ..sources.files import read_text
from .case import Case, parse_case
from .complaints import RECORDED, Complaint
from .judged import unfit_of
from .sampling import sampled


@dataclass(frozen=True, kw_only=True)
class CaseReader:
    """Reads the cases that an eval names, for an Idea called `name`; paths start from `folder`.

    With `takes_input_alone`, a run may be of another Idea, and only its input counts; with `expects_recorded`, a case
    expects its run's output.
    """

    idea: Idea
    name: str
    folder: Path
    types: Mapping[str, Type]
    """The types of the values that expressions refer to."""
    judge: Callable[[Case, Complaint], None]
    """Notes further problems of a case."""
    takes_input_alone: bool = False
    expects_recorded: bool = False

    def read(self, item: Json, wrong: Complaint, name: str = "") -> Iterator[Case]:
        """The cases of one item: a file, a pattern of files, runs of a store, or the case itself, called `name` unless
        it has a name."""
        if is_object(item) and "runs" in item:
            reader = self._for_runs(item)
            drop: Any = item.get("drop", [])
            for key, run in sampled(item, self.types, wrong):
                for case in reader._of_run(run, {"name": key}, Complaint(f"run {key}", wrong.noted)):
                    yield replace(case, dropped=list(_texts_at(case, drop, wrong.at("drop"))))
        elif isinstance(item, str):
            for path in self._paths(item, wrong):
                noted, cases = len(wrong.noted), list(self._in_file(path, wrong))
                if not cases and len(wrong.noted) == noted:
                    wrong(f"{path.name} holds no case")
                yield from cases
        else:
            yield from self._case(item, name, wrong)

    def _paths(self, pattern: str, wrong: Complaint) -> list[Path]:
        names = sorted(glob(pattern, root_dir=self.folder)) if has_magic(pattern) else [pattern]
        paths = [path for name in names if (path := self.folder / name).is_file()]
        if not paths:
            wrong(f"there is no file {pattern}")
        return paths

    def _in_file(self, path: Path, wrong: Complaint) -> Iterator[Case]:
        name = str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
        nested = Complaint(name, wrong.noted)
        try:
            text = read_text(path).removeprefix("\ufeff")
            match path.suffix:
                case ".jsonl":
                    yield from self._lines(text, path.stem, nested)
                case ".csv":
                    yield from self._table(text, path.stem, nested)
                case ".yaml" | ".yml":
                    yield from self._list(parse_text(text, name), text, path.stem, nested)
                case _:
                    yield from self._of_run(Idea.load(path), {"name": path.stem}, nested)
        except (ActumError, NotJson) as error:
            message = error.message if isinstance(error, ActumError) else str(error)
            prefix = next((prefix for prefix in (str(path), name, path.name) if message.startswith(f"{prefix}:")), None)
            nested.noted.append(f"{name}: {message}" if prefix is None else f"{name}{message.removeprefix(prefix)}")

    def _lines(self, text: str, stem: str, wrong: Complaint) -> Iterator[Case]:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                nested = Complaint(f"{wrong.where}:{number}", wrong.noted)
                try:
                    item = decode(line)
                except NotJson as error:
                    nested(str(error))
                    continue
                yield from self._case(item, f"{stem}-{number}", nested)

    def _list(self, content: Json, text: str, stem: str, wrong: Complaint) -> Iterator[Case]:
        items: Any = content.get("cases") if is_object(content) else content
        if not is_list(items):
            wrong("cases are a list")
            return
        for number, (item, line) in enumerate(zip(items, item_lines(text, "cases"), strict=True), 1):
            yield from self._case(item, f"{stem}-{number}", Complaint(f"{wrong.where}:{line}", wrong.noted))

    def _table(self, text: str, stem: str, wrong: Complaint) -> Iterator[Case]:
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            counts = Counter(rows.fieldnames or ())
            if repeated := [column for column, count in counts.items() if count > 1]:
                wrong.noted.append(f"{wrong.where}:1: it names {', '.join(map(repr, repeated))} twice")
                return
            for number, row in enumerate(rows, 2):
                nested = Complaint(f"{wrong.where}:{rows.line_num}", wrong.noted)
                if None in row or None in row.values():
                    nested("it has more cells, or fewer, than the first line names")
                    continue
                item: JsonObject = {"name": f"{stem}-{number}"}
                columns = [(column.split("."), cell) for column, cell in row.items() if cell]
                if all(self._is_put(item, column, cell, nested) for column, cell in columns):
                    yield from self._case(item, f"{stem}-{number}", nested)
        except csv.Error as error:
            wrong.noted.append(f"{wrong.where}:{rows.line_num}: {error}")

    def _is_put(self, item: JsonObject, column: list[str], cell: str, wrong: Complaint) -> bool:
        """Put a cell at the path of its column, read as the type that the schemas give it; False if that fails."""
        *keys, last = column
        at: Any = item
        for key in keys:
            at = at.setdefault(key, {}) if is_object(at) else at
        if not is_object(at) or is_object(at.get(last)):
            wrong(f"{'.'.join(column)}: another column says what it is a part of, or holds")
            return False
        types = self._types_at(column)
        at[last] = cell.split() if column == ["tags"] else cell if "string" in types else decoded(cell, cell)
        return True

    def _types_at(self, column: list[str]) -> Sequence[str]:
        """The types that the schemas have at a column's path, if any; a column of one word is text."""
        root: Any = self._input if column[0] == "input" else self.idea.text.schema if column[0] == "expect" else None
        for key in column[1:]:
            root = root.get("properties", {}).get(key) if is_object(root) else None
        types: Any = "string" if len(column) == 1 else root.get("type", []) if is_object(root) else []
        return [types] if isinstance(types, str) else types

    def _case(self, item: Json, name: str, wrong: Complaint) -> Iterator[Case]:
        path: Any = item.get("run") if is_object(item) else None
        if not is_object(item) or path is None:
            case = parse_case(item, wrong)
            yield from self._judged(case, name, wrong)
            return
        reader = self._for_runs(item)
        is_recorded = item.get("expect") == RECORDED
        dropped = {"run", "take", "expect"} if is_recorded else {"run", "take"}
        members = {key: value for key, value in item.items() if key not in dropped}
        try:
            run = Idea.load(self.folder / str(path))
        except ActumError as error:
            wrong.at("run")(error.message)
            return
        yield from reader._of_run(run, {"name": Path(str(path)).stem, **members}, wrong)

    def _for_runs(self, item: JsonObject) -> CaseReader:
        """The reader for runs of an item that says what to take of them."""
        return replace(
            self,
            takes_input_alone=self.takes_input_alone or item.get("take") == "input",
            expects_recorded=self.expects_recorded or item.get("expect") == RECORDED,
        )

    def _of_run(self, run: Idea, members: JsonObject, wrong: Complaint) -> Iterator[Case]:
        """A run as a case: its input and its other messages; its results come first on the case's record."""
        try:
            account = account_of(run, wrong.where)
        except ActumError as error:
            wrong.noted.append(error.message)
            return
        if (unfit := unfit_of(account)) is not None:
            wrong(unfit)
            return
        if not (self._is_of_idea(run) or self.takes_input_alone):
            label = "another Idea" if run.source is None else f'"{run.source.name}"'
            wrong(f'a run of {label}, not of "{self.name}"; `take: input` takes its input alone')
            return
        given = run.context.with_messages(account.given)
        known: JsonObject = {"input": given.data.get("input")} if given.data.get("input") else {}
        if not self.takes_input_alone:
            known["messages"] = self._beyond_idea(account)
        if self.expects_recorded and account.output is not None:
            known["expect"] = account.output
        record = None if self.takes_input_alone and not self._is_of_idea(run) else run
        yield from self._judged(parse_case({**known, **members}, wrong, record), str(members["name"]), wrong)

    def _is_of_idea(self, run: Idea) -> bool:
        mine, path = self.idea.source or self.idea.file, run.source
        if mine is None or path is None:
            return True
        return mine.resolve() == path.resolve() or mine.name == path.name

    def _beyond_idea(self, account: Account) -> list[JsonObject]:
        """The messages that a run was given, without its input and the messages of the Idea.

        The Idea may have changed since: for each of its messages that the run was not given, one of the same kind in
        the run counts as the Idea's.
        """
        given = {encode(message, sort_keys=True) for message in account.given}
        of_idea = {encode(message, sort_keys=True): str(message["type"]) for message in self.idea.context}
        changed = Counter(kind for text, kind in of_idea.items() if text not in given)
        beyond: list[JsonObject] = []
        for message in account.given:
            if message["type"] in {"input", "meta", "plan"} or encode(message, sort_keys=True) in of_idea:
                continue
            if changed[message["type"]]:
                changed[message["type"]] -= 1
            else:
                beyond.append(message)
        return beyond

    def _judged(self, case: Case | None, name: str, wrong: Complaint) -> Iterator[Case]:
        if case is None:
            return
        has_input = case.input is not None or not case.messages
        if has_input and (complaint := Validator(self._input).complaint(case.input or {})):
            wrong.at("input")(complaint) if complaint[0] in "\"'{[" else wrong(f"input.{complaint}")
            return
        self.judge(case, wrong)
        yield case if case.name else replace(case, name=name)

    @cached_property
    def _input(self) -> JsonObject:
        """The schema of the Idea's input."""
        return {**self.idea.as_tool("case").parameters}


def _texts_at(case: Case, paths: Any, wrong: Complaint) -> Iterator[str]:
    """The texts in a case's input at the paths to drop, so that they can be cut out wherever they occur.

    Anything else at these paths is noted as wrong, since it would stay.
    """
    for path in paths if is_list(paths) else [paths]:
        kind, *keys = str(path).split(".")
        value: Any = case.input if kind == "input" else None
        for key in keys:
            value = value.get(key) if is_object(value) else None
        if isinstance(value, str) and value:
            yield value
        elif value is not None:
            wrong(f"{path} of {case.name} is not a text, and only texts can be cut out of a case")
