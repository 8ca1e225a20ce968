"""Where each value of a plan comes from, as far as the examples tell (R5, R9-R13)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..dataflow.reference import print_path
from ..dataflow.template import escaped
from ..errors import RefineError
from ..protocol.tool import Tool
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from .examples import Example, leaves_of
from .terms import KnownValue, Term, sources_of, template_for, terms_for, value_key, varies

How: TypeAlias = Literal["authored", "term", "constant", "confirmed", "question", "hole"]
_MOST_ALIKE = 64
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a value of the plan is. `leaf` is its place, `3.city`; `text` is as it stands in the plan.

    `others` are terms that no example tells from it; the plan expects that they agree. `why` is for people.
    """

    leaf: str
    text: Json
    how: How
    why: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Author:
    """What the author of the Idea has said: his words, the numbers among them, and the tools' schemas."""

    words: str
    tools: Mapping[str, Tool]

    @classmethod
    def of(cls, messages: Sequence[JsonObject], tools: Mapping[str, Tool]) -> Author:
        """The author of these messages, of which the input is not."""
        own = [message for message in messages if message.get("type") not in {"input", "tool", "meta"}]
        return cls(words="\n".join(str(value) for message in own for _, value in leaves_of(message)), tools=tools)

    @property
    def numbers(self) -> list[float]:
        """The numbers that he wrote."""
        found = dict.fromkeys(_NUMBER.findall(self.words))
        return [float(one) if "." in one else int(one) for one in found]

    def has_said(self, value: Json) -> bool:
        """Whether a value stands among his words, as a word."""
        if value is None or isinstance(value, bool) or value == "":
            return True
        text = value if isinstance(value, str) else encode(value)
        return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.words) is not None

    def declares(self, tool: str, name: str, value: Json) -> bool:
        """Whether a parameter can't be otherwise by its schema, or is so by default."""
        schema: Any = self.tools[tool].parameters["properties"].get(name) if tool in self.tools else None
        if not is_object(schema):
            return False
        known: list[Any] = [schema[key] for key in ("const", "default") if key in schema]
        options: Any = schema.get("enum")
        known += options if is_list(options) and len(options) == 1 else []
        return any(value_key(one) == value_key(value) for one in known)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the models of the examples had seen when they wrote a call: the numbers of its answers, and the sources."""

    before: Sequence[int]
    sources: Sequence[KnownValue]


@dataclass(slots=True)
class Derivation:
    """Derives the values of a plan from examples of one shape. `confirmed` are leaves that a person has settled."""

    examples: Sequence[Example]
    author: Author
    confirmed: Mapping[str, str] = field(default_factory=dict[str, str])
    found: list[Explanation] = field(default_factory=list[Explanation])

    def step(self, index: int) -> JsonObject:
        """The parameters of a step of the plan."""
        steps = [example.steps[index] for example in self.examples]
        before = [step.answer for step in steps]
        seen = Seen(before, sources_of(self.examples, before))
        parameters: JsonObject = {}
        for name in steps[0].arguments:
            values = [step.arguments[name] for step in steps]
            authored = [
                _renumbered(example, step.authored.get(name), step.answer)
                for example, step in zip(self.examples, steps, strict=True)
            ]
            at = f"{index}{print_path((name,))}"
            parameters[name] = self._value(at, values, authored, seen, (steps[0].tool, name))
        return parameters

    def output(self) -> Json:
        """The output of the plan."""
        last = [max((step.answer for step in one.steps), default=-1) + 1 for one in self.examples]
        seen = Seen(last, sources_of(self.examples, last))
        values = [example.output for example in self.examples]
        return self._value("output", values, [example.authored_output for example in self.examples], seen, None)

    def _value(
        self,
        at: str,
        values: Sequence[Json],
        authored: Sequence[Any],
        seen: Seen,
        parameter: tuple[str, str] | None,
    ) -> Json:
        """What stands in the plan for a value: as a whole where that can be explained, else part by part."""
        whole = self._explained(at, values, authored, seen.sources)
        if whole is not None:
            self.found.append(whole)
            return whole.text
        if (keys := _keys(values)) is not None:
            return {
                key: self._value(
                    f"{at}{print_path((key,))}",
                    [value[key] for value in values if is_object(value)],
                    [one.get(key) if is_object(one) else one for one in authored],
                    seen,
                    parameter if parameter is None else (parameter[0], ""),
                )
                for key in keys
            }
        if (length := _length(values)) is not None:
            return [
                self._value(
                    f"{at}[{index}]",
                    [value[index] for value in values if is_list(value)],
                    [one[index] if is_list(one) and len(one) == length else one for one in authored],
                    seen,
                    parameter if parameter is None else (parameter[0], ""),
                )
                for index in range(length)
            ]
        leaf = self._leaf(at, values, seen.before, parameter)
        self.found.append(leaf)
        return leaf.text

    def _explained(
        self, at: str, values: Sequence[Json], authored: Sequence[Any], sources: Sequence[KnownValue]
    ) -> Explanation | None:
        """A reference or expression that all examples were authored with, or the terms that give the value."""
        texts = {one if isinstance(one, str) else None for one in authored}
        if len(texts) == 1 and (text := next(iter(texts))) is not None and _refers(text):
            return Explanation(leaf=at, text=text, how="authored", why="as all examples wrote it")
        if self.confirmed.get(at):
            return Explanation(leaf=at, text=self.confirmed[at], how="confirmed", why="confirmed")
        if not varies(values):
            return None
        found: list[Term] = []
        for terms in terms_for(values, sources, self.author.numbers):
            found += terms
        if len(found) > _MOST_ALIKE:
            return Explanation(leaf=at, text=None, how="hole", why=f"{len(found)} terms give it: more examples tell")
        if found:
            best, *others = sorted(found, key=lambda term: term.rank)
            why = "the only explanation" if not others else f"and {len(others)} more, which have to agree"
            return Explanation(leaf=at, text=best.text, how="term", why=why, others=tuple(one.text for one in others))
        template = template_for(values, sources)
        if template is not None:
            return Explanation(leaf=at, text=template.text, how="term", why="a text with what was known filled in")
        return None

    def _leaf(
        self, at: str, values: Sequence[Json], before: Sequence[int], parameter: tuple[str, str] | None
    ) -> Explanation:
        """A scalar that no term explains: a constant, or a hole."""
        if varies(values):
            return Explanation(leaf=at, text=None, how="hole", why="no term gives it in all examples")
        value = values[0]
        if parameter is not None and self.author.declares(*parameter, value):
            return Explanation(leaf=at, text=escaped(value), how="constant", why="its schema says so")
        if self.author.has_said(value):
            return Explanation(leaf=at, text=escaped(value), how="constant", why="the author's own words")
        if self._is_from_data(value, before):
            raise RefineError(
                f"{encode(value)} stands in what a call has returned, and in nothing given: it can't be a constant; "
                "write it into the Idea if it is meant",
                code="taken_from_data",
                path=at,
            )
        if at in self.confirmed:
            return Explanation(leaf=at, text=escaped(value), how="confirmed", why="confirmed")
        return Explanation(
            leaf=at, text=escaped(value), how="question", why=f"the same in all, said nowhere: --confirm {at}"
        )

    def _is_from_data(self, value: Json, before: Sequence[int]) -> bool:
        """Whether a value stands in a result that any example's model had seen, and in no input."""
        text = value if isinstance(value, str) else None
        for example in self.examples:
            if any(_holds(given, value, text) for _, given in leaves_of(example.input)):
                return False
        return any(
            _holds(held, value, text)
            for example, answer in zip(self.examples, before, strict=True)
            for step in example.steps
            if step.answer < answer
            for _, held in leaves_of(step.value)
        )


def _holds(held: Any, value: Json, text: str | None) -> bool:
    return value_key(held) == value_key(value) or (text is not None and isinstance(held, str) and text in held)


def _renumbered(example: Example, authored: Any, answer: int) -> Any:
    if is_object(authored):
        return {key: _renumbered(example, one, answer) for key, one in authored.items()}
    if is_list(authored):
        return [_renumbered(example, one, answer) for one in authored]
    return example.renumbered(authored, answer)


def _refers(text: str) -> bool:
    return "†" in text.replace("††", "") and "†calls.-1" not in text


def _keys(values: Sequence[Json]) -> Sequence[str] | None:
    """The keys of objects that all have the same ones."""
    held = [one for one in values if is_object(one)]
    is_alike = len(held) == len(values) and bool(held[0]) and all(one.keys() == held[0].keys() for one in held)
    return list(held[0]) if is_alike else None


def _length(values: Sequence[Json]) -> int | None:
    """How long lists are that are all as long, and not empty."""
    held = [one for one in values if is_list(one)]
    is_alike = len(held) == len(values) and len({len(one) for one in held}) == 1 and bool(held[0])
    return len(held[0]) if is_alike else None


def agreements(found: Sequence[Explanation], of: int | None) -> Iterator[JsonObject]:
    """What the plan expects so that terms which no example tells apart can't come to different values (R13)."""
    for one in found:
        is_of_output = one.leaf.startswith("output")
        if one.others and (is_of_output if of is None else one.leaf.split(".")[0].split("[")[0] == str(of)):
            left = Term(str(one.text), 0).group
            equal = " and ".join(f"{left} == {Term(other, 0).group}" for other in one.others[:8])
            yield {"_expect": f"{{{equal}}}"}
