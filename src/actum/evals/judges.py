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
from .checks import Verdict
from .complaints import SHARE, WORDS, Complaint, Form
from .judged import JudgedRun
from .paid import PaidAnswers, RepeatedModel
from .statistics import Agreement

_LABELS, _OF_EACH, _KAPPA = 30, 10, 0.6
"""Below this a judge is advisory: so many labels, so many of each kind, and this agreement beyond chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeIdea:
    """An Idea that judges outputs: a score that passes from `at_least` on, or pass or not. It is given no tools.

    `labels` are what people said of outputs, by their digests; `kappa` is how far it has to agree with them to count
    in gates. `asks` lets it ask its model for what it hasn't judged before.
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
        """Ask the judge of a run's output, unless it has judged the same before."""
        if not run.has_output:
            return Verdict(state="fail", why=run.failed or "the run has no output")
        try:
            result = await self._asked(run)
        except _NotAsked:
            return Verdict(state="unknown", why="the judge wasn't asked (--judge)")
        except ActumError as error:
            return Verdict(state="broken", why=error.message)
        told: Any = result.output
        why = str(told.get("why", ""))
        if isinstance(told.get("pass"), bool):
            return Verdict(state="pass" if told["pass"] else "fail", why=why)
        score = float(told["score"])
        return Verdict(state="pass" if score >= self.at_least else "fail", why=why, score=score)

    async def _asked(self, run: JudgedRun) -> Result[Any]:
        seen: JsonObject = {"input": run.values["input"], "output": run.output, "called": run.called}
        seen |= {} if run.case.expect is MISSING else {"expect": run.case.expect}
        seen |= {} if self.rubric is None else {"rubric": self.rubric}
        taken = self.idea.as_tool("judge").parameters["properties"]
        given = {key: value for key, value in seen.items() if key in taken}
        model = self.model if self.asks and self.model is not None else _Silent(self.model)
        agent = Agent(RepeatedModel(model, self.answers, 1), tools=[])
        return await self.idea.run(agent, input=given)

    def agreement(self, judged: Mapping[str, bool]) -> Agreement:
        """How far it agrees with people on the outputs that it has judged, by their digests."""
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

    def told(self, agreement: Agreement) -> str:
        """How far it agrees with people, in words."""
        if not agreement.of:
            return f"{self.name}: advisory, since no output that it judged has a label"
        wrong = f"{agreement.only_judge} passed and {agreement.only_people} failed against them"
        share = f"{agreement.share:.0%} of {agreement.of} labels"
        own = f"{self.name}: as people in {share} ({wrong}), κ {agreement.kappa:.2f}"
        return own if self.counts(agreement) else f"{own}: advisory, in no gate"


class _NotAsked(ActumError):
    """The judge's model isn't to be asked."""


class _Silent:
    """A model that isn't asked: what it answered before may be known."""

    def __init__(self, model: Model | None) -> None:
        self.name = "judge" if model is None else model.name
        self.dialect = getattr(model, "dialect", None)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str]:
        """Refuse to be asked."""
        raise _NotAsked("it isn't asked")
        yield ""


_FORM: Form = {**dict.fromkeys(("idea", "rubric", "labels"), WORDS), **dict.fromkeys(("at_least", "kappa"), SHARE)}


def read_judge(told: JsonObject, folder: Path, wrong: Complaint, *, must: bool) -> JudgeIdea | None:
    """A judge as it stands in a file: {judge: {idea: judges/tone.json, labels: tone.labels.jsonl, at_least: 0.8}}."""
    own: Any = told["judge"]
    own = {"idea": own} if isinstance(own, str) else own
    noted = len(wrong.noted)
    words = f"a judge is an Idea, {{idea: judges/tone.json}}; it may say {', '.join([*_FORM][1:])}"
    own = wrong.form(own if is_object(own) and "idea" in own else None, _FORM, words)
    if "idea" not in own:
        return None
    try:
        idea = Idea.load(folder / own["idea"])
        labels = labels_in(folder / own["labels"]) if "labels" in own else dict[str, bool]()
        model = ready(idea, own["idea"], code=Code.to_read()).model
    except ActumError as error:
        wrong(error.message)
        return None
    properties: Any = shape_of(idea.schema).schema.get("properties", {})
    if not {"score", "pass"} & properties.keys():
        wrong.noted.append(f'{own["idea"]}: its output has neither "score" nor "pass"')
    if len(wrong.noted) > noted:
        return None
    limits: Mapping[str, float] = {key: own[key] for key in ("at_least", "kappa") if key in own}
    name = Path(own["idea"]).stem
    return JudgeIdea(name=name, must=must, idea=idea, rubric=own.get("rubric"), labels=labels, model=model, **limits)


def labels_in(path: Path) -> Mapping[str, bool]:
    """What people said of outputs, by their digests, in a file of lines {case, output, pass}; the last line counts.

    Raises:
        IdeaError: it can't be read, or a line isn't a label.
    """
    found: dict[str, bool] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            told = decode(line)
        except NotJson as error:
            raise IdeaError(f"{path}:{number}: {error}") from None
        match told:
            case {"output": str(digest), "pass": bool(passed)}:
                found[digest] = passed
            case _:
                raise IdeaError(f"{path}:{number}: a label is {{case, output: SHA-256, pass: true or false}}")
    return found
