"""The graph against a model that looks at everything again and again: the same calls run, in any order of events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.expression import MISSING, Each, Expression, First, evaluate
from actum.dataflow.fold import Fold
from actum.dataflow.graph import Graph
from actum.dataflow.node import Answer, Node, Status
from actum.dataflow.reference import Reference
from actum.dataflow.verdict import Fate, verdicts

from ..effort import trials

PATHS = st.sampled_from([("a",), ("b",), ("c",), ("a", "x"), ("a", "y"), ("b", 0)])
STATE = PATHS.map(lambda path: Reference("state", path))
CALLS = st.integers(0, 5).map(lambda index: Reference("calls", (index,)))
READS: st.SearchStrategy[Expression] = st.one_of(
    STATE, CALLS, st.tuples(STATE, STATE).map(First), st.tuples(STATE, CALLS).map(Each)
)
Plan = list[tuple[list[Expression], list[Reference], bool]]
PLANS: st.SearchStrategy[Plan] = st.lists(
    st.tuples(st.lists(READS, max_size=2), st.lists(STATE, max_size=1), st.booleans()), min_size=1, max_size=6
)


def _nothing(*_: object) -> Any:
    return MISSING


def _never(*_: object) -> bool:
    return False


class Run:
    """Runs a plan: calls arrive and finish in an order that is drawn; each value is the call's number."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.memory = Fold({})
        self.graph = Graph(self._read, _never)
        self.answer = Answer()
        self.running: list[Node] = []
        self.started: list[int] = []
        self.arrived = 0

    def _read(self, reference: Reference, _: str | None) -> Any:
        return self.memory.read(reference.path)

    def arrive(self) -> None:
        expressions, writes, _ = self.plan[self.arrived]
        node = self.graph.node(self.answer, self.arrived)
        node.expressions, node.writes = expressions, writes
        self.graph.enter(node)
        self.graph.again(node)
        self.arrived += 1
        if self.arrived == len(self.plan):
            self.graph.close(self.answer)
        self.start()

    def start(self) -> None:
        while self.graph.ready:
            node = self.graph.ready.popleft()
            if self.graph.values(node) is not None:
                self.started.append(node.number)
                self.running.append(node)

    def finish(self, which: int) -> None:
        node = self.running.pop(which % len(self.running))
        _, writes, succeeds = self.plan[node.number]
        if not succeeds:
            self.graph.settle(node, Status.FAILED)
        else:
            for reference in writes:
                self.memory.write("set", reference.path, node.number) if fits(self.memory, reference) else None
            self.graph.settle(node, Status.DONE, node.number, writes)
            for reference in writes:
                self.graph.wrote(reference, None)
        self.start()

    def value(self, reference: Reference) -> Any:
        if reference.kind == "calls":
            node = self.answer.nodes.get(int(reference.path[0]))
            return node.number if node is not None and node.status is Status.DONE else MISSING
        return self.memory.read(reference.path)


def fits(memory: Fold, reference: Reference) -> bool:
    held = memory.read(reference.path[:1])
    return not isinstance(held, dict if isinstance(reference.path[-1], int) else list) or len(reference.path) == 1


@pytest.mark.rule("C6", "P1")
@settings(max_examples=trials(300))
@given(PLANS, st.lists(st.integers(0, 9), min_size=30, max_size=30))
def test_nothing_runs_twice_too_early_or_never(plan: Plan, choices: list[int]) -> None:
    run = Run(plan)
    for choice in choices:
        if run.running and (choice % 2 or run.arrived == len(plan)):
            before = len(run.started)
            run.finish(choice // 2)
            for number in run.started[before:]:
                assert all(evaluate(expression, run.value) is not MISSING for expression in plan[number][0])
        elif run.arrived < len(plan):
            run.arrive()
    while run.running or run.arrived < len(plan):
        run.finish(0) if run.running else run.arrive()
    assert len(run.started) == len(set(run.started))
    judged = verdicts(run.graph, lambda _: False)
    assert judged.keys() == set(range(len(plan))) - set(run.started)
    for number, verdict in judged.items():
        expressions = plan[number][0]
        blocked = [expression for expression in expressions if evaluate(expression, run.value) is MISSING]
        assert blocked or verdict.fate in {Fate.CYCLE, Fate.FAILED, Fate.SKIPPED, Fate.FREE}


@pytest.mark.rule("P1")
@given(st.integers(1, 40), st.randoms())
def test_a_ring_of_calls_is_one_cycle_and_what_hangs_on_it_fails(size: int, random: Any) -> None:
    graph, answer = Graph(_nothing, _never), Answer()
    order = list(range(size))
    random.shuffle(order)
    following = {order[n]: order[(n + 1) % size] for n in range(size)}
    for number in range(size + 1):
        node = graph.node(answer, number)
        node.expressions = [Reference("calls", (following.get(number, 0),))]
        graph.enter(node)
        graph.again(node)
    judged = verdicts(graph, lambda _: False)
    cycle = [node.number for node in judged[0].nodes]
    assert [judged[n].fate for n in range(size)] == [Fate.CYCLE] * size
    assert all(following[number] == other for number, other in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert judged[size].fate is Fate.FAILED
