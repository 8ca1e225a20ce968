"""Judges: Ideas that say how good an output is, and how far they agree with people (V15, V16)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..app.agent import Agent
from ..app.idea import Idea
from ..app.loading import Code, ready
from ..dataflow.expression import MISSING
from ..errors import ActumError, IdeaError
from ..generation.model import Model, ModelRequest
from ..protocol.solution import Result
from ..schema.infer import shape_of
from ..schema.json import JsonObject, NotJson, decode, is_object
from ..sources.files import read_text
from .checks import Verdict, no_output
from .complaints import SHARE, WORDS, Complaint, Form
from .judged import JudgedRun
from .paid import PaidAnswers, RepeatedModel
from .statistics import Agreement

_LABELS, _OF_EACH, _KAPPA = 30, 10, 0.6
"""A judge is advisory with fewer labels, fewer of either kind, or less agreement beyond chance than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdea:
    """An Idea that judges outputs, by a score that passes from `at_least`, or by pass or fail. It gets no tools.

    `labels` are people's verdicts on outputs, by digest; `kappa` is the agreement with them that gates require.
    `asks` lets it ask its model about outputs that it hasn't judged before.
    """

    name: str
    must: bool = False
    idea: Idea
    rubric: str | None = None
    at_least: float = 0.5
    kappa: float = _KAPPA
    labels: Mapping[str, bool] = field(default_factory=dict[str, bool])
    asks: bool = False
    model: Model | None = None
    answers: PaidAnswers = field(default_factory=PaidAnswers)

    async def judge(self, run: JudgedRun) -> Verdict | None:
        """Judge a run's output, by an earlier answer if there is one."""
        if not run.has_output:
            return no_output(run)
        try:
            result = await self._ask(run)
        except _NotAsked:
            return Verdict(state="unknown", why="the judge wasn't asked (--judge)")
        except ActumError as error:
            return Verdict(state="broken", why=error.message)
        answer: Any = result.output
        why = str(answer.get("why", ""))
        if isinstance(answer.get("pass"), bool):
            return Verdict(state="pass" if answer["pass"] else "fail", why=why)
        score = float(answer["score"])
        return Verdict(state="pass" if score >= self.at_least else "fail", why=why, score=score)

    async def _ask(self, run: JudgedRun) -> Result[Any]:
        available: JsonObject = {"input": run.values["input"], "output": run.output, "called": run.called}
        available |= {} if run.case.expect is MISSING else {"expect": run.case.expect}
        available |= {} if self.rubric is None else {"rubric": self.rubric}
        parameters = self.idea.as_tool("judge").parameters["properties"]
        values = {key: value for key, value in available.items() if key in parameters}
        model = self.model if self.asks and self.model is not None else _Silent(self.model)
        agent = Agent(RepeatedModel(model, self.answers, 1), tools=[])
        return await self.idea.run(agent, input=values)

    def agreement(self, judged: Mapping[str, bool]) -> Agreement:
        """Its agreement with people on the outputs that it has judged, by digest."""
        both = [(judged[digest], label) for digest, label in self.labels.items() if digest in judged]
        return Agreement(
            both_pass=both.count((True, True)),
            both_fail=both.count((False, False)),
            only_judge=both.count((True, False)),
            only_people=both.count((False, True)),
        )

    def counts(self, agreement: Agreement) -> bool:
        """Whether gates may count it."""
        passed = agreement.both_pass + agreement.only_people
        of_each = min(passed, agreement.of - passed)
        return agreement.of >= _LABELS and of_each >= _OF_EACH and agreement.kappa >= self.kappa

    def describe(self, agreement: Agreement) -> str:
        """Its agreement with people, in words."""
        if not agreement.of:
            return f"{self.name}: advisory, since no output that it judged has a label"
        wrong = f"{agreement.only_judge} passed and {agreement.only_people} failed against them"
        share = f"{agreement.share:.0%} of {agreement.of} labels"
        text = f"{self.name}: as people in {share} ({wrong}), κ {agreement.kappa:.2f}"
        return text if self.counts(agreement) else f"{text}: advisory, in no gate"


class _NotAsked(ActumError):
    """The judge's model may not be asked."""


class _Silent:
    """Stands for a model that may not be asked; earlier answers are known."""

    def __init__(self, model: Model | None) -> None:
        self.name = "judge" if model is None else model.name
        self.dialect = getattr(model, "dialect", None)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str]:
        """Refuse to be asked."""
        raise _NotAsked("it isn't asked")
        yield ""


_FORM: Form = {**dict.fromkeys(("idea", "rubric", "labels"), WORDS), **dict.fromkeys(("at_least", "kappa"), SHARE)}


def read_judge(item: JsonObject, folder: Path, wrong: Complaint, *, must: bool) -> JudgeIdea | None:
    """Read a judge of a file: {judge: {idea: judges/tone.json, labels: tone.labels.jsonl, at_least: 0.8}}."""
    given: Any = item["judge"]
    given = {"idea": given} if isinstance(given, str) else given
    noted = len(wrong.noted)
    words = f"a judge is an Idea, {{idea: judges/tone.json}}; it may say {', '.join([*_FORM][1:])}"
    given = wrong.form(given if is_object(given) and "idea" in given else None, _FORM, words)
    if "idea" not in given:
        return None
    try:
        idea = Idea.load(folder / given["idea"])
        labels = labels_in(folder / given["labels"]) if "labels" in given else dict[str, bool]()
        model = ready(idea, given["idea"], code=Code.to_read()).model
    except ActumError as error:
        wrong(error.message)
        return None
    properties: Any = shape_of(idea.schema).schema.get("properties", {})
    if not {"score", "pass"} & properties.keys():
        wrong.noted.append(f'{given["idea"]}: its output has neither "score" nor "pass"')
    if len(wrong.noted) > noted:
        return None
    limits: Mapping[str, float] = {key: given[key] for key in ("at_least", "kappa") if key in given}
    name = Path(given["idea"]).stem
    return JudgeIdea(name=name, must=must, idea=idea, rubric=given.get("rubric"), labels=labels, model=model, **limits)


def labels_in(path: Path) -> Mapping[str, bool]:
    """People's verdicts on outputs, by digest, from a file of lines {case, output, pass}; the last one counts.

    Raises:
        IdeaError: it can't be read, or a line isn't a label.
    """
    labels: dict[str, bool] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            label = decode(line)
        except NotJson as error:
            raise IdeaError(f"{path}:{number}: {error}") from None
        match label:
            case {"output": str(digest), "pass": bool(passed)}:
                labels[digest] = passed
            case _:
                raise IdeaError(f"{path}:{number}: a label is {{case, output: SHA-256, pass: true or false}}")
    return labels
