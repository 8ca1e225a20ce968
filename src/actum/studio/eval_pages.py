"""The tab *Evals*: the evals that were saved below the folder, and people's labels of judges' verdicts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..app.saved import SavedIdea
from ..errors import ActumError
from ..evals import Judgement, Report
from ..evals.gating import kept_report
from ..evals.paid import append_lines
from ..evals.verdicts import labels_beside, labels_file, noted_in
from ..ideas.ticks import RUN
from ..schema.json import Json, is_list, is_object
from .answering import PartNotFound, page, redirect_to
from .eval_file import values_of
from .numbers import page_of
from .posting import posted
from .resources import Studio

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_CASES = 50
_LABELLED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judge's verdict on an output, to be labelled by a person; `label` is the one it has."""

    row: Judgement
    output: Json
    label: bool | None


@dataclass(frozen=True, slots=True)
class EvalPages:
    """The pages of evals; they only read saved reports."""

    studio: Studio

    async def list(self, _request: Request) -> Response:
        """The evals that were saved below the folder."""
        return page(self.studio, "evals.html", evals=await asyncio.to_thread(self.studio.shelf.evals))

    async def show(self, request: Request) -> Response:
        """The report of an eval, and its judges' verdicts, to agree with or not."""
        key, folder, report = await self._open(request)
        cases = list(dict.fromkeys(row.case for row in report.rows))
        at, pages = page_of(request.query_params.get("page"), len(cases), _CASES)
        values = values_of(report, str)
        values["cases"] = values["cases"][(at - 1) * _CASES : at * _CASES]
        judged = await asyncio.to_thread(_judged, folder, report)
        return page(self.studio, "eval.html", title=key, key=key, page=at, pages=pages, judged=judged, **values)

    async def label(self, request: Request) -> Response:
        """Note whether a person agrees with a judge's verdict on an output."""
        key, folder, report = await self._open(request)
        texts = (await posted(request)).texts
        check, output, answer = (texts.get(name, "") for name in ("check", "output", "label"))
        row = next((row for row in _judge_rows(folder, report) if (row.check, row.output) == (check, output)), None)
        if row is None or answer not in {"agree", "disagree"}:
            raise PartNotFound("no judge of this eval has judged such an output")
        label = {"case": row.case, "output": output, "pass": (row.state == "pass") == (answer == "agree")}
        await asyncio.to_thread(append_lines, labels_file(folder, check), [label])
        return redirect_to(f"/evals/{key}#labels")

    async def _open(self, request: Request) -> tuple[str, Path, Report]:
        key = request.path_params["key"]
        folder = await asyncio.to_thread(self.studio.shelf.eval, key)
        return key, folder, await asyncio.to_thread(kept_report, folder)


def _judge_rows(folder: Path, report: Report) -> list[Judgement]:
    """The verdicts of judges, each output once."""
    judges: Any = noted_in(folder).get("judges")
    rows = [row for row in report.rows if is_list(judges) and row.check in judges and row.state in {"pass", "fail"}]
    return list({(row.check, row.output): row for row in rows if row.output is not None}.values())


def _judged(folder: Path, report: Report) -> list[Judged]:
    """The verdicts of judges with their outputs, those without a label first; as many as a page holds."""
    rows = _judge_rows(folder, report)
    labels = {check: labels_beside(folder, check) for check in {row.check for row in rows}}
    judged = [Judged(row=row, output=None, label=labels[row.check].get(str(row.output))) for row in rows]
    shown = sorted(judged, key=lambda item: item.label is not None)[:_LABELLED]
    return [replace(item, output=_output(folder, item.row)) for item in shown]


def _output(folder: Path, row: Judgement) -> Json:
    """The output of a run, if its file lies in the eval's folder."""
    path = (folder / str(row.run)).resolve()
    if not path.is_relative_to(folder.resolve()):
        return None
    try:
        about: Any = SavedIdea.load(path).meta.get(RUN)
    except ActumError:
        return None
    return about.get("output") if is_object(about) else None
