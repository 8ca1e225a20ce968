"""What a context and the answers of a model come to: the protocol, as slow and plain as it can be.

It knows no time. It decides one element after the other, in any order, until nothing is left to decide; what depends
on what is all that it knows of order. Nothing here comes from the code that carries plans out. What a run is given is
in `world`, what elements read in `reading`, how they end in `carrying`, what data is in `values`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from actum.dataflow.expression import Each, Expression, First
from actum.dataflow.reference import Reference
from actum.schema.json import is_object

from .carrying import Ends
from .reading import ANY
from .values import LAST_ANSWER, NOTHING, Json, Write, folded, nested, plain, write_of
from .world import FAILED, READER, Cyclic, End, Failure, Outcome, Request, Tool, Trace, Unspecified, World, label_of

_FAILED = frozenset({End.FAILED, End.MISSING})


class Run:
    """One run: its context and answers, one after the other, until one is delivered or there are none left."""

    def __init__(
        self,
        world: World,
        context: Sequence[Json],
        answers: Sequence[Json],
        trace: Trace | None = None,
        caller: str = "",
        tool: str = "",
    ) -> None:
        self.world = world
        self.context = context
        self.answers = iter(answers)
        self.plans = [message for message in context if message["type"] == "plan"]
        self.trace = Trace() if trace is None else trace
        self.caller = caller
        self.tool = tool
        self.writes = [write for message in context if (write := write_of(message)) is not None]
        self.tools: dict[str, Tool] = {name: Tool(name, schema) for name, schema in world.tools.items()}
        self.tools |= {READER.name: READER} if READER.name not in self.tools else {}
        for message in context:
            if message["type"] == "tool":
                self.tools |= {name: Tool(name, schema) for name, schema in message["tool"].items()}
        self.tools = {name: tool.contracted(world) for name, tool in self.tools.items()}
        self.blocks: list[tuple[Any, ...]] = []
        self.results: dict[int, Any] = {}
        self.messages: list[Json] = []
        self.number = 0
        self.value_count = 0
        """How many values calls have left."""
        self.output: Any = NOTHING
        self.errors: list[tuple[Any, str | None]] = []
        """The calls that have failed, with their instances, in the order of their places."""
        self.is_program = False
        """Whether the answer under way is a plan that no model wrote (P5)."""
        self.metas: list[Any] = []
        """The identities that its answers have, where it has one itself (T5)."""
        self.error_code = ""
        """The code of the error that ends it without an output."""
        self.owed: dict[str, list[list[tuple[Answer, int]]]] = {}
        """The calls that the model owes, by what they say; together are those that say "not yet" of one (C4)."""
        self.depends_on_timing = False
        """Whether what is shown depends on when calls end that nothing waits for (C8)."""

    def turn(self, message: Json, answers: Sequence[Json]) -> Any:
        """The output of the next turn of a conversation (M4)."""
        self.context = [*self.context, message]
        self.answers, self.output = iter(answers), NOTHING
        return self.go()

    def go(self) -> Any:
        """The output; None where it ends without one."""
        last: Any = None
        while self.output is NOTHING:
            value_count = self.value_count
            self.is_program = bool(self.plans)
            if self.is_program:
                plan = self.plans.pop(0)
                written: Json = {"calls": plan["plan"], "output": plan.get("output")}
            else:
                self._ask()
                written = next(self.answers, LAST_ANSWER)
                has_identity = any(message["type"] == "meta" for message in self.context)
                self.metas.append(written.get("meta") if has_identity else None)
            answer = Answer(self, written)
            answer.settle()
            if self.is_program and written["output"] is not None and self.output is NOTHING and not self._is_repaired():
                self.error_code = "plan_left" if answer.is_left else "plan_failed"
                return None
            if answer.failures:
                self.trace.failing |= {call.get("n", -1) for call in written["calls"]}
            self.number += 1
            calls = Counter(map(repr, written["calls"]))
            if self.output is NOTHING and last == (calls, self.value_count):
                raise Unspecified(-1)  # it goes round in circles (L4)
            last = (calls, value_count)
        return self.output

    def _is_repaired(self) -> bool:
        """Whether a model goes on after a plan that has failed: behind an effect only where it is `always` to (P5)."""
        repair = self.world.repair
        had_effects = any(
            execution.activity is not None and not execution.is_read for execution in self.trace.executions
        )
        return repair == "always" or (repair is True and not had_effects)

    def delegated(self, tool: Tool, call: Json, arguments: Json, place: str, crossing: Json) -> Any:
        """What a delegate makes of a call: a run of its own, which sees what crosses and nothing else (D4, D5)."""
        world, address = self.world, str(tool.delegate(call))
        idea, name = world.delegates.get(address, {"context": []}), tool.name if address == "anonymous" else address
        replaced = {"input", *(["meta"] if "meta" in crossing else [])}
        context = [message for message in idea["context"] if message["type"] not in replaced]
        context += [{"type": "meta", "meta": meta} for meta in crossing.get("meta", [])]
        defaults = {
            kind: value
            for message in idea["context"]
            if message["type"] == "input"
            for kind, value in message["input"].items()
        }
        crossed = {kind: value for kind, value in crossing.items() if kind not in {"error", "meta"}}
        context += [{"type": "data", "kind": kind, "data": value} for kind, value in crossed.items()]
        sub = Run(
            replace(
                world,
                is_upfront=False,
                tools={name: world.tools[name] for name in idea.get("config", {}).get("tools", [])},
            ),
            [*context, {"type": "input", "input": defaults | arguments}],
            world.replies.get(name, []),
            self.trace,
            f"{place}/",
            name,
        )
        sub.blocks = [("error", error) for error in crossing.get("error", [])]
        sub.errors = [(error, None) for error in crossing.get("error", [])]
        return sub.go()

    def read(self, arguments: Json, place: str) -> Any:
        """What a reader makes of a value: it sees that and the question, and is asked again only by retries (D18)."""
        arguments = {key: value for key, value in arguments.items() if key != "as"}
        answer = self.world.read(arguments)
        is_usable = is_object(answer)
        for _ in range(1 if is_usable else 1 + self.world.retries):
            self.trace.requests.append(
                Request(f"{place}/", READER.name, (), {"input": arguments}, depends_on_timing=False)
            )
        if not is_usable:
            raise Failure("no usable answer", "solution")
        if answer["output"] is None:
            raise Failure("it isn't there", "not_in_value")
        return answer["output"]

    def _ask(self) -> None:
        kinds = {write.kind for write in self.writes}
        instances = dict.fromkeys(message.get("_instance") for message in self.context)
        data: Json = {}
        for message in self.context:
            data |= {"meta": message["meta"]} if message["type"] == "meta" else {}
        for instance in instances | {None: None}:
            for kind in kinds:
                if instance is None and (value := folded(self.writes, kind, instance)) is not NOTHING:
                    data[kind] = plain(value)
        self.trace.requests.append(Request(self.caller, self.tool, tuple(self.blocks), data, self.depends_on_timing))

    def show(self, kind: str, element: Json | None, value: Any = None, result: Any = NOTHING) -> None:
        """Let the next request show what has become of a call; `result` is its value where something else is shown."""
        call = None if element is None else label_of(element)
        if kind == "result":
            number = len(self.results)
            self.results[number] = value if result is NOTHING else result
            self.blocks.append((kind, number, call, value))
        else:
            self.blocks.append((kind, call))

    def pay(self, answer: Answer) -> list[tuple[Answer, list[int]]]:
        """End what is owed as an answer says, and let what has waited for it go on; return what has ended so of others.

        The result is that of the call which pays: those that said "not yet" leave none.
        """
        paid: dict[int, Answer] = {}
        for index, (end, value) in answer.ends.items():
            element = answer.elements[index]
            if "_output" not in element or end not in {End.DONE, End.OWED} or answer.waits_for_owed(index):
                continue
            text = repr(sorted((key, content) for key, content in element.items() if key != "_output"))
            groups = self.owed.setdefault(text, [])
            earlier = [group for group in groups if group[-1][0] is not answer or end is End.DONE]
            if end is End.OWED:
                (earlier[0] if earlier else groups.append([]) or groups[-1]).append((answer, index))
            elif earlier:
                groups.remove(earlier[0])
                for owing, at in earlier[0]:
                    owing.ends[at] = end, value
                    owing.paid.add(at)
                    paid[id(owing)] = owing
        resumed = [(owing, owing.go_on()) for owing in sorted(paid.values(), key=lambda owing: owing.number)]
        return [(owing, indexes) for owing, indexes in resumed if owing is not answer]

    def waits_for_owed(self, answer: Any) -> bool:
        """Whether a call of an earlier answer waits for what is owed."""
        owing = (earlier for groups in self.owed.values() for group in groups for earlier, _ in group)
        return any(earlier.waits_for_owed(at) for earlier in owing if earlier is not answer for at in earlier.ends)

    def leave(
        self,
        place: str,
        what: str,
        value: Any,
        write: Write | None = None,
        instance: str | None = None,
        *,
        is_lost: bool = False,
    ) -> None:
        """Note the message that a call leaves; what it says is not folded where it `is_lost`."""
        message: Json = {"_of": place, "what": what, "value": value}
        if write is not None:
            self.writes += [] if is_lost else [write]
            message |= {"path": str(Reference(write.kind, write.path)), "method": write.method}
        self.value_count += what in {"data", "result"}
        self.messages.append(message | ({} if instance is None else {"_instance": instance}))


class Answer(Ends):
    """One answer: its elements, decided one by one; then what becomes of its output."""

    def settle(self) -> None:
        """Decide all of it, and leave what comes of it in its run."""
        self.check_cycles()
        self._decide_all(range(len(self.elements)))
        self._check_owed()
        resumed = self.run.pay(self)
        is_withheld = bool(self.withheld_by) or any(
            answer.ends[at][0] in _FAILED for answer, indexes in resumed for at in indexes
        )
        output = FAILED if is_withheld else self._delivered()  # before what it leaves is of the run
        if self.output is None:
            self._check_waited()
        left = [index for index in range(len(self.elements)) if index not in self.paid]
        for answer, indexes in [*resumed, (self, left)]:
            for index in indexes:
                answer._leave(index)
        if output[0] is End.DONE:
            self.run.output = output[1]
        elif self.output is not None and not is_withheld:
            self.run.leave(str(self.run.number), "error", None)
            self.run.errors.append((None, None))
            self.run.show("error", None)

    def _decide_all(self, indexes: Iterable[int]) -> None:
        undecided = list(indexes)
        while undecided:
            waiting = [index for index in undecided if not self._decide(index)]
            if len(waiting) == len(undecided):
                raise Cyclic(*waiting)
            undecided = waiting

    def waits_for_owed(self, index: int) -> bool:
        """Whether it waits for what is owed of another call: its own result is not owed."""
        return self.ends[index][0] is End.OWED and self.elements[index].get("_output", True) is not None

    def go_on(self) -> list[int]:
        """Decide what has waited for what was owed, and return what has ended so."""
        waited = [at for at in sorted(self.ends) if self.waits_for_owed(at)]
        for index in waited:
            del self.ends[index]
        self._decide_all(waited)
        return [at for at in waited if self.ends[at][0] is not End.OWED]

    def _check_owed(self) -> None:
        """Whether the protocol says how those end that wait for what is owed: not where they do more than read it."""
        waiting = [at for at, (end, _) in self.ends.items() if end is End.OWED]
        if waiting and self.run.is_program:
            raise Unspecified(-1)
        for index in waiting:
            if not self._is_call(index) or not self.waits_for_owed(index):
                continue
            is_plain = all(reference.kind in {"calls", "each", "input", "user"} for reference in self._read_by(index))
            if not is_plain or self._scopes(index) or self.paths[index] or not self._has_result(index):
                raise Unspecified(index)

    def _check_waited(self) -> None:
        """Whether the next request comes only when all calls have ended, also those that nothing waits for (C8)."""
        last_then = max((at for at in range(len(self.elements)) if not self._is_call(at)), default=-1)
        done = [index for index, (end, _) in self.ends.items() if end is End.DONE]
        read = {at for index in self.ends.keys() - self.refused - self.impossible for at in self._referred(index)}
        awaited = read.union(at for index in done for at in self.predecessors[index])
        for index in (self.places.keys() | self.refused) - awaited - set(range(last_then)):
            tool = self.tools[index]
            if tool is None or self._has_result(index) or self.paths[index] is not None or tool.is_ordered:
                continue
            if self.ends[index][0] is End.FAILED:
                raise Unspecified(index)
            self.run.depends_on_timing = True

    def _leave(self, index: int) -> None:
        """Leave its messages, and what the next request shows of it (M6, M9)."""
        run, element = self.run, self.elements[index]
        end, value = self.ends[index]
        place, instance = f"{self.number}.{index}", self._instance(index)
        if "_then" in element:
            return
        for write in self.lost.get(index, []):
            run.leave(place, "data", nested(write.path, write.value), write, instance, is_lost=True)
        if "_expect" in element and end is End.DONE:
            run.leave(place, "record", None)
        elif end in {End.SKIPPED, End.UNTAKEN}:
            run.leave(place, "skipped", True)
            if "_when" in element:  # else an alternative that was not taken, which nobody needs to know
                run.show("skipped", element)
        elif index in self.failures:
            run.leave(place, "error", None)
            run.errors.append((label_of(element), instance))
            run.show("error", element)
            for number, call, result in self.succeeded_items.get(index, []):
                if self._has_result(index):
                    run.leave(f"{place}.{number}", "result", result, instance=instance)
                    run.show("result", call, result)
        elif end is End.DONE and index in self.writes:
            for write in self.writes[index]:
                run.leave(place, "data", nested(write.path, write.value), write, instance)
        elif end is End.DONE and not self._has_result(index):
            run.leave(place, "record", value)
            run.show("result", element, "done", value)
        elif end is End.DONE:
            run.leave(place, "result", value, instance=instance)
            run.show("result", element, value)

    @property
    def failures(self) -> set[int]:
        """Those that the model is shown."""
        return self._failed()

    def _failed(self) -> set[int]:
        """Those that the model is shown; without those that only read and that nothing waits for (C8)."""
        failed = {index for index, (end, _) in self.ends.items() if end in {End.FAILED, End.MISSING}}
        calls = {at for at in failed if "_then" not in self.elements[at]}
        return {at for at in calls if not self._is_unmissed(at)}

    def _is_unmissed(self, index: int) -> bool:
        tool = self.tools[index]
        return (
            tool is not None
            and tool.is_read
            and not self._has_result(index)
            and index in self.places.keys() - self.refused
        )

    @property
    def withheld_by(self) -> set[int]:
        """The failures beside which an output is not delivered: all but those that an alternative makes up for (O9)."""
        failed = self.failures
        excused = {at for choice in self._firsts() for at in self._sources(choice)} & failed
        expressions = () if self.output is None else self.output.expressions
        needed = {at for expression in expressions for part in _plain(expression) for at in self._sources(part)}
        excused -= needed
        causes = {
            at: {
                cause
                for part in self._templates(at)
                if part
                for expression in part.expressions
                for cause in self._sources(expression)
            }
            & failed - {at}
            for at in failed - self.places.keys() - self.impossible
        }
        while True:
            more = {
                cause
                for at in excused
                for cause in causes.get(at, set())
                if {other for other, reasons in causes.items() if cause in reasons} <= excused
            } - needed
            if more <= excused:
                return failed - excused
            excused |= more

    @property
    def is_left(self) -> bool:
        """Whether nothing has failed but what was expected, and what that failed (P5)."""
        expected = {at for at in self.withheld_by if "_expect" in self.elements[at]}
        return bool(expected) and self.withheld_by <= expected | self.not_made

    def _firsts(self) -> Iterator[First]:
        """The alternatives that have a value, in the output and in what is not skipped."""
        templates = [
            (index, self._templates(index))
            for index, (end, _) in self.ends.items()
            if end not in {End.SKIPPED, End.UNTAKEN}
        ]
        parts = [
            (index, part)
            for index, whole in templates
            if self._is_call(index)
            for part in (whole if self._is_made_as_authored(index) else whole[:2])
            if part is not None
        ]
        parts += [(-1, self.output)] if self.output is not None else []
        for index, part in parts:
            for expression in part.expressions:
                for choice in _choices(expression):
                    if self.outcome_of(choice, index, ANY)[0] is End.DONE:
                        yield choice

    def _is_made_as_authored(self, index: int) -> bool:
        """Whether what it holds is read: not where there are no items, nor where its approver writes another call."""
        element = self.elements[index]
        return element.get("gate") != "edit" and ("_each" not in element or index in self.made_by_item)

    def _delivered(self) -> Outcome:
        """What becomes of its output (O7, O9)."""
        if self.output is None or self.withheld_by:
            return FAILED
        return self._filled(self.output, -1)


def _plain(expression: Expression) -> Iterator[Expression]:
    """What is read without an alternative."""
    if isinstance(expression, Each):
        for part in expression.parts:
            yield from _plain(part)
    elif not isinstance(expression, First):
        yield expression


def _choices(expression: Expression) -> Iterator[First]:
    if isinstance(expression, First):
        yield expression
    elif isinstance(expression, Each):
        for part in expression.parts:
            yield from _choices(part)
