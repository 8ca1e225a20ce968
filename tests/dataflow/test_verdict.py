"""What becomes of the calls that still wait at a standstill, as a table: no run, no journal, only a graph (C7, P1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from actum.dataflow.expression import MISSING, parse, written_paths
from actum.dataflow.graph import Graph
from actum.dataflow.node import Answer, Status
from actum.dataflow.reference import Reference
from actum.dataflow.verdict import CallFate, Fate, verdicts

CYCLE, DEAD, SKIPPED, FAILED = Fate.CYCLE, Fate.DEAD, Fate.SKIPPED, Fate.FAILED
OWED, PROPOSAL, FREE = Fate.OWED, Fate.PROPOSAL, Fate.FREE


class Made(NamedTuple):
    """A call: what it reads and writes, and what became of it; None where it waits."""

    reads: str | None = None
    writes: str | None = None
    status: Status | None = None


def is_gate(reference: Reference) -> bool:
    return reference.kind == "state" and reference.path[:1] == ("approvals",)


def judged(*calls: Made, frees: bool = True, **values: Any) -> dict[int, CallFate]:
    """The verdicts over an answer of these calls; `values` are the members of the state."""

    def read(reference: Reference, _: str | None) -> Any:
        return values.get(str(reference.path[0]), MISSING) if reference.path else MISSING

    graph, answer = Graph(read, lambda *_: False), Answer()
    for number, call in enumerate(calls):
        expressions = (parse(call.reads),) if call.reads else ()
        node = graph.node(answer, number)
        node.expressions, node.writes = expressions, written_paths(parse(call.writes) if call.writes else None)
        graph.enter(node)
        graph.again(node)
    graph.close(answer)
    for node, call in zip(graph.nodes, calls, strict=True):
        if call.status is not None:
            graph.settle(node, call.status)
    return verdicts(graph, is_gate, frees=frees)


def waits(reads: str, writes: str | None = None) -> Made:
    return Made(reads, writes)


def ended(status: Status, writes: str | None = "†state.a") -> Made:
    return Made(None, writes, status)


CASES: dict[str, tuple[list[Made], dict[int, Fate]]] = {
    "nobody can fill it": ([waits("†state.a")], {0: DEAD}),
    "no such call": ([waits("†calls.7")], {0: DEAD}),
    "its writer has failed": ([ended(Status.FAILED), waits("†state.a")], {1: FAILED}),
    "the call it names has failed": ([ended(Status.FAILED, None), waits("†calls.0")], {1: FAILED}),
    "its writer was skipped": ([ended(Status.SKIPPED), waits("†state.a")], {1: SKIPPED}),
    "its writer wrote the other alternative": ([ended(Status.DONE), waits("†state.a")], {1: SKIPPED}),
    "its writer is owed": ([ended(Status.OWED), waits("†state.a")], {1: OWED}),
    "its writer is held": ([ended(Status.HELD), waits("†state.a")], {1: PROPOSAL}),
    "a gate": ([waits("†state.approvals.x")], {0: PROPOSAL}),
    "behind a gate, through another call": (
        [waits("†state.approvals.x", "†state.a"), waits("†state.a", "†state.b"), waits("†state.b.c")],
        {0: PROPOSAL, 1: PROPOSAL, 2: PROPOSAL},
    ),
    "behind a failure, through another call": (
        [ended(Status.FAILED), waits("†state.a", "†state.b"), waits("†state.b")],
        {1: FAILED, 2: FAILED},
    ),
    "itself": ([waits("†state.a", "†state.a")], {0: CYCLE}),
    "each other": ([waits("†state.b", "†state.a"), waits("†state.a", "†state.b")], {0: CYCLE, 1: CYCLE}),
    "a cycle that it isn't part of": (
        [waits("†calls.1"), waits("†calls.2"), waits("†calls.1")],
        {0: FAILED, 1: CYCLE, 2: CYCLE},
    ),
    "the best option of a choice": ([ended(Status.OWED), waits("†state.z <|> †state.a")], {1: OWED}),
    "the worst part of a conjunction": ([ended(Status.OWED), waits("†state.z *> †state.a")], {1: DEAD}),
}


@pytest.mark.rule("C7", "P1")
@pytest.mark.parametrize("case", CASES)
def test_a_call_that_waits_is_judged_by_what_it_waits_for(case: str) -> None:
    calls, fates = CASES[case]
    assert {number: verdict.fate for number, verdict in judged(*calls).items()} == fates


@pytest.mark.rule("C7")
def test_a_failure_names_the_call_that_failed_and_the_reference() -> None:
    verdict = judged(ended(Status.FAILED), waits("†state.a.b"))[1]
    assert ([node.number for node in verdict.nodes], verdict.references) == ([0], (Reference("state", ("a", "b")),))


@pytest.mark.rule("P1")
def test_a_cycle_names_its_calls_in_their_order_and_no_other() -> None:
    verdicts = judged(waits("†calls.1"), waits("†calls.2"), waits("†calls.3"), waits("†calls.1"))
    assert [node.number for node in verdicts[1].nodes] == [1, 2, 3]


@pytest.mark.rule("C7")
def test_a_proposal_names_the_gate_that_it_is_held_by() -> None:
    verdicts = judged(waits("†state.approvals.x", "†state.a"), waits("†state.a"))
    assert {verdict.references for verdict in verdicts.values()} == {(Reference("state", ("approvals", "x")),)}


@pytest.mark.rule("C7")
def test_an_open_gate_holds_nobody() -> None:
    verdicts = judged(waits("†state.approvals *> †state.z"), approvals={"x": True})
    assert verdicts[0].fate is DEAD


@pytest.mark.rule("C7", "P1")
@pytest.mark.parametrize("frees", [True, False])
def test_a_value_that_a_call_before_it_was_to_replace_is_free_to_be_read_once_that_is_refused(frees: bool) -> None:
    verdicts = judged(waits("†state.z", "†state.a"), waits("†state.a"), frees=frees, a=1)
    assert [verdicts[0].fate, verdicts[1].fate] == [DEAD, FREE]


@pytest.mark.rule("C7", "O8")
@pytest.mark.parametrize("reads", ["†state.a *> †calls.0", "†calls.0 *> †state.a"])
def test_a_value_that_a_skipped_call_was_to_replace_does_not_count_beside_a_failure(reads: str) -> None:
    skipped = waits("†state.z", "†state.a")
    verdicts = judged(ended(Status.FAILED, None), ended(Status.SKIPPED, "†state.z"), skipped, waits(reads), a=1)
    assert [verdicts[2].fate, verdicts[3].fate] == [SKIPPED, FAILED]


@pytest.mark.rule("C7", "O8")
@pytest.mark.parametrize("status", [Status.READY, Status.HELD, Status.OWED])
def test_who_reads_a_path_is_not_skipped_with_one_writer_where_another_may_still_write(status: Status) -> None:
    skipped = [ended(Status.SKIPPED, "†state.z"), waits("†state.z", "†state.a")]
    verdicts = judged(ended(status), *skipped, waits("†state.a"))
    assert [verdicts[2].fate, verdicts[3].fate] == [SKIPPED, FREE]


@pytest.mark.rule("P1")
def test_judging_is_linear_in_a_long_chain_of_calls() -> None:
    chain = [ended(Status.FAILED, None), *(waits(f"†calls.{number}") for number in range(3_000))]
    assert {verdict.fate for verdict in judged(*chain).values()} == {FAILED}
