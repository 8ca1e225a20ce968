"""What becomes of the calls that still wait when nothing runs any more (C7, P1). Pure, and linear in the graph.

A call may wait for a gate (a proposal), for a call that the model owes, for one that failed, for an alternative that
was not taken, for itself (a cycle), or for what nobody can fill.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import TypeAlias

from .computing.text import Computed
from .expression import MISSING, Each, Expression, First, references
from .graph import Graph
from .node import ENDED, Node, Status
from .reference import CALLS, PathTree, Reference, any_overlap


class Fate(IntEnum):
    """Why a call waits, the graver the lower; a choice takes its best option, a conjunction its worst part.

    FREE: what it refers to exists, and a call listed before it that was to write there may never do so.
    """

    CYCLE = 0
    DEAD = 1
    SKIPPED = 2
    FAILED = 3
    OWED = 4
    PROPOSAL = 5
    FREE = 6


@dataclass(frozen=True, slots=True)
class CallFate:
    """One call's fate: the references it is about, and the calls: those that failed, or the cycle in its order."""

    fate: Fate
    references: tuple[Reference, ...] = ()
    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class _Behind:
    """A reference that other waiting calls may fill."""

    reference: Reference | None
    nodes: tuple[Node, ...]
    needs_none: bool = False
    """Whether it goes on whatever becomes of them: there is a value, or one to come, or it needs none."""
    failed: Node | None = None
    """A call that has failed to fill it, which counts where these are skipped."""


_Outlook: TypeAlias = "CallFate | _Behind"


def verdicts(graph: Graph, is_gate: Callable[[Reference], bool], *, frees: bool = True) -> dict[int, CallFate]:
    """Judge every waiting call of a graph at a standstill. By the calls' numbers.

    Those that are FREE, or wait for one, may go on once the others have been refused. Where none did, judge again with
    `frees` off: they wait for each other then.
    """
    return _Judgement(graph, is_gate).judge(frees=frees)


class _Judgement:
    def __init__(self, graph: Graph, is_gate: Callable[[Reference], bool]) -> None:
        self._graph = graph
        self._writers = _Writers(graph.nodes, lambda node: node.writes)
        self._leaving = _Writers(graph.nodes, lambda node: node.leaves)
        self._is_gate = is_gate
        self._decided: dict[int, CallFate] = {}
        self._memo: dict[tuple[int, Reference, str | None, bool], Mapping[Status, Sequence[Node]]] = {}
        self._dependents: defaultdict[int, list[Node]] = defaultdict(list)
        self._open: dict[int, int] = {}
        self._most_behind = _LEAST_BEHIND

    def judge(self, *, frees: bool) -> dict[int, CallFate]:
        waiting = [node for _, node in sorted(self._graph.waiting.items())]
        self._most_behind = max(_LEAST_BEHIND, _MOST_LOOKED_AT // (len(waiting) + 1))
        for node in waiting:
            for blocker in self._blockers(node):
                self._dependents[blocker.number].append(node)
        self._spread({node: verdict for node in waiting if (verdict := self._held_verdict(node)) is not None})
        if frees:
            self._spread({node: CallFate(Fate.FREE) for node in waiting if self._is_free(node)})
        undecided = {node.number: node for node in waiting if node.number not in self._decided}
        for node in undecided.values():
            self._open[node.number] = sum(blocker.number in undecided for blocker in self._blockers(node))
        self._settle(deque(node for node in undecided.values() if not self._open[node.number]))
        for node in undecided.values():
            while node.number not in self._decided:  # the way from a node may lead into a cycle that it isn't part of
                self._settle(deque(self._break_cycle(node)))
        return self._decided

    def _held_verdict(self, node: Node) -> CallFate | None:
        """The verdict of a call that a gate holds, or a call that is held; None for any other."""
        if node.awaits_else:
            return None
        verdicts = [outlook for outlook in self._outlooks(node) if isinstance(outlook, CallFate)]
        held = [verdict for verdict in verdicts if verdict.fate is Fate.PROPOSAL]
        return CallFate(Fate.PROPOSAL, tuple(ref for verdict in held for ref in verdict.references)) if held else None

    def _is_free(self, node: Node) -> bool:
        return all(
            node.comes_after(place) is None
            and (node.is_scope(place) or self._graph.known.value(node.read(place), node) is not MISSING)
            for place in node.unmet
        )

    def _spread(self, fates: dict[Node, CallFate]) -> None:
        """Decide these, and the same of all that wait for one of them."""
        spreading = deque[Node]()
        for node, verdict in fates.items():
            if node.number not in self._decided:
                self._decided[node.number] = verdict
                spreading.append(node)
        while spreading:
            node = spreading.popleft()
            for dependent in self._dependents[node.number]:
                if dependent.number not in self._decided and (
                    not dependent.awaits_else or self._decided[node.number].fate is Fate.FREE
                ):
                    self._decided[dependent.number] = self._decided[node.number]
                    spreading.append(dependent)

    def _settle(self, settled: deque[Node]) -> None:
        while settled:
            node = settled.popleft()
            if node.number not in self._decided:
                parts = [self._fate_at(place, node) or _HELD_UP for place in sorted(node.unmet)]
                parts += self._failed_scopes(node)
                self._decided[node.number] = _final_fate(_worst(parts) or _HELD_UP, node)
            for dependent in self._dependents.pop(node.number, ()):
                if dependent.number in self._open:
                    self._open[dependent.number] -= 1
                    if self._open[dependent.number] == 0 and dependent.number not in self._decided:
                        settled.append(dependent)

    def _failed_scopes(self, node: Node) -> Iterator[CallFate]:
        """Why a call can't be made, whatever else it waits for: what it is handed has failed (S8)."""
        for scope in node.scopes:
            writers = self._writers_of(scope, node, is_scope=True)
            fails = (writer for writer in writers.get(Status.WAITING, ()) if self._decided_as(writer) in _FAILING)
            for writer in (*writers.get(Status.FAILED, ()), *fails):
                if writer.is_to_bring(scope, node):
                    yield CallFate(Fate.FAILED, (scope,), (writer,))

    def _decided_as(self, node: Node) -> Fate | None:
        return self._decided[node.number].fate if node.number in self._decided else None

    def _break_cycle(self, node: Node) -> list[Node]:
        visited: dict[int, Node] = {}
        while node.number not in visited:
            visited[node.number] = node
            node = next(blocker for blocker in self._blockers(node) if blocker.number not in self._decided)
        numbers = list(visited)
        numbers = numbers[numbers.index(node.number) :]
        first = numbers.index(min(numbers))  # it is told in one way, wherever it was come upon
        cycle = [visited[number] for number in numbers[first:] + numbers[:first]]
        self._decided |= dict.fromkeys((member.number for member in cycle), CallFate(Fate.CYCLE, nodes=tuple(cycle)))
        return cycle

    def _fate_at(self, place: int, node: Node) -> CallFate | None:
        before = node.comes_after(place)
        if before is None:
            return self._fate(node.read(place), node, place)
        outlook = _outlook_after(before)
        if not isinstance(outlook, _Behind):
            return outlook
        decided = self._decided.get(before.number, _HELD_UP)
        if decided.fate in {Fate.SKIPPED, Fate.FREE}:
            return CallFate(Fate.FREE)  # once that is skipped, this one may go on
        return decided if decided.fate in {Fate.OWED, Fate.PROPOSAL} else CallFate(Fate.FAILED, (), (before,))

    def _fate(self, expression: Expression, node: Node, place: int) -> CallFate | None:
        """Why an expression is not there yet; None where it is."""
        match expression:
            case Computed(references=read):
                # A call that will be skipped is null to it: it goes on then.
                fates = [fate for fate in (self._fate(ref, node, place) for ref in read) if fate is not None]
                fates = [CallFate(Fate.FREE) if _is_skipped_call(fate) else fate for fate in fates]
                return min(fates, key=_gravity, default=None)
            case First(options=options):
                fates = [self._fate(option, node, place) for option in options]
                return max((fate for fate in fates if fate is not None), key=_gravity, default=None)
            case Each(parts=parts):
                fates = (self._fate(part, node, place) for part in parts)
                return _worst([fate for fate in fates if fate is not None])
            case Reference():
                outlook = self._outlook(expression, node, place)
                return self._fate_behind(outlook) if isinstance(outlook, _Behind) else outlook

    def _fate_behind(self, outlook: _Behind) -> CallFate:
        decided = [blocker for blocker in outlook.nodes if blocker.number in self._decided]
        blocker = max(decided, key=lambda node: self._decided[node.number].fate)
        verdict = self._decided[blocker.number]
        refs = () if outlook.reference is None else (outlook.reference,)
        if verdict.fate is Fate.FREE or (outlook.needs_none and verdict.fate not in {Fate.OWED, Fate.PROPOSAL}):
            return CallFate(Fate.FREE)  # once that has gone on, or has ended, it is seen what becomes of this one
        if verdict.fate in {Fate.OWED, Fate.PROPOSAL} or (verdict.fate is Fate.SKIPPED and outlook.failed is None):
            return CallFate(verdict.fate, refs)
        return CallFate(Fate.FAILED, refs, (blocker if verdict.fate in _FAILING else outlook.failed or blocker,))

    def _blockers(self, node: Node) -> list[Node]:
        outlooks = (outlook for outlook in self._outlooks(node) if isinstance(outlook, _Behind))
        return list({blocker.number: blocker for outlook in outlooks for blocker in outlook.nodes}.values())

    def _outlooks(self, node: Node) -> Iterator[_Outlook]:
        for place in sorted(node.unmet):
            if (before := node.comes_after(place)) is not None:
                if (outlook := _outlook_after(before)) is not None:
                    yield outlook
                continue
            for reference in references(node.read(place)):
                outlook = self._outlook(reference, node, place)
                if outlook is not None:
                    yield outlook

    def _outlook(self, reference: Reference, node: Node, place: int) -> _Outlook | None:
        """What a reference waits for; None where it has its value and no call listed before is to write it."""
        is_scope = node.is_scope(place)
        if self._is_gate(reference) and not is_scope:
            is_open = self._graph.known.value(reference, node) is not MISSING
            return None if is_open else CallFate(Fate.PROPOSAL, (reference,))
        writers, is_own = self._writers_of(reference, node, is_scope=is_scope), bool(node.own_writes(reference))
        if is_own and reference.kind != CALLS:
            writers = {
                status: [other for other in of_it if not _is_own(other, node)] for status, of_it in writers.items()
            }
        waiting = writers.get(Status.WAITING, ())
        first = {status: of_it[0] for status, of_it in writers.items() if of_it}
        is_there = is_scope or self._graph.known.value(reference, node) is not MISSING
        if is_there:
            last = inf if self._graph.known.reads_parts(reference, node) else node.number
            waiting = [writer for writer in waiting if writer.number < last]
            # A value that a call is to replace that is held, or ends with its items, is not the one to read.
            first = {status: call for status, call in first.items() if status in _REPLACING and call.number < last}
            if not (waiting or first):
                return None
        if waiting:
            needs_none = is_there or bool(_TO_WRITE & first.keys())
            return _Behind(reference, tuple(waiting), needs_none, first.get(Status.FAILED))
        fate = _hopeless_fate(reference, first)
        return CallFate(Fate.CYCLE, (reference,), (node,)) if is_own and fate.fate is Fate.DEAD else fate

    def _writers_of(self, reference: Reference, node: Node, *, is_scope: bool) -> Mapping[Status, Sequence[Node]]:
        """The calls that may write a path, by their status, in their order; of very many, the first of each."""
        key = (id(node.answer), reference, node.instance, is_scope)
        if key not in self._memo:
            leaving = self._leaving.of(reference, node.instance) if is_scope else []
            by_status = self._memo[key] = defaultdict[Status, list[Node]](list)
            for writer in sorted((*self._candidates(reference, node), *leaving), key=lambda writer: writer.number):
                if len(by_status[writer.status]) < self._most_behind:
                    by_status[writer.status].append(writer)
        return self._memo[key]

    def _candidates(self, reference: Reference, node: Node) -> list[Node]:
        if reference.kind != CALLS:
            writers = self._writers.of(reference, node.instance)
            # What has ended of an earlier answer was of that alone: what it has left is there, or never will be.
            return [writer for writer in writers if writer.answer is node.answer or writer.status not in ENDED]
        target = node.answer.named(reference)
        return [target] if target is not None and target.status is not Status.DONE else []


def _is_own(writer: Node, node: Node) -> bool:
    """Whether a writer is the call itself, or writes behind what that writes there: it isn't waited for (O8)."""
    return writer.last is node.last or (writer.number > node.number and node.writes_before(writer))


_MOST_LOOKED_AT = 2_000
_LEAST_BEHIND = 16
"""Among very many calls only so many that may fill one path are looked at, so that judging stays linear."""
_HELD_UP = CallFate(Fate.SKIPPED)
"""What can't be told: no reference of the call is known to be missing."""


def _outlook_after(before: Node) -> _Outlook | None:
    """What a call that comes after another waits for; None once that has passed (C11, T14)."""
    match before.status:
        case Status.DONE if before.is_uncertain:
            return CallFate(Fate.FAILED, (), (before,))
        case Status.DONE | Status.SKIPPED:
            return None
        case Status.FAILED:
            return CallFate(Fate.FAILED, (), (before,))
        case Status.HELD:
            return CallFate(Fate.PROPOSAL)
        case Status.OWED:
            return CallFate(Fate.OWED)
        case Status.WAITING | Status.READY:
            return _Behind(None, (before,))


def _final_fate(verdict: CallFate, node: Node) -> CallFate:
    """The verdict of a call; one that waits for its `_else` can't be skipped, owed or held any more (C14)."""
    is_open = verdict.fate in {Fate.SKIPPED, Fate.OWED, Fate.PROPOSAL}
    return CallFate(Fate.FAILED, nodes=(node,)) if node.awaits_else and is_open else verdict


def _worst(fates: Sequence[CallFate]) -> CallFate | None:
    """What decides of what is read without an alternative: a call that is skipped, before what is worse (C10)."""
    return next(filter(_is_skipped_call, fates), None) or min(fates, key=_gravity, default=None)


def _is_skipped_call(verdict: CallFate) -> bool:
    kinds = {reference.kind for reference in verdict.references}
    return verdict.fate is Fate.SKIPPED and kinds == {CALLS}


def _hopeless_fate(reference: Reference, writers: Mapping[Status, Node]) -> CallFate:
    for status, fate in _FATES:
        if status in writers:
            return CallFate(fate, (reference,), (writers[status],))
    return CallFate(Fate.DEAD, (reference,))


def _gravity(verdict: CallFate) -> Fate:
    return verdict.fate


_REPLACING = frozenset({Status.READY, Status.HELD})
_FAILING = frozenset({Fate.CYCLE, Fate.DEAD, Fate.FAILED})
_TO_WRITE = frozenset({Status.READY, Status.HELD, Status.OWED})
"""What a call is that may write a path, and waits for nothing in this tick but those that write there before it."""
_FATES = (
    (Status.READY, Fate.FREE),  # a call for every item, of which one waits: it ends with them
    (Status.OWED, Fate.OWED),
    (Status.HELD, Fate.PROPOSAL),
    (Status.FAILED, Fate.FAILED),
    (Status.SKIPPED, Fate.SKIPPED),
    (Status.DONE, Fate.SKIPPED),
)


class _Writers:
    """All calls by the paths that they may write, or by what they leave."""

    def __init__(self, nodes: Iterable[Node], paths: Callable[[Node], Sequence[Reference]]) -> None:
        self._calls: PathTree[list[Node]] = PathTree(list)
        for node in nodes:
            for reference in paths(node):
                self._calls.notes_to(reference)[-1].append(node)

    def of(self, reference: Reference, instance: str | None) -> list[Node]:
        """Those that may fill a path as an instance sees it; a write that was done elsewhere than here counts too."""
        above, _ = self._calls.around(reference)
        writers = [node for nodes in (*above, *self._calls.inside(reference)) for node in nodes]
        return [node for node in writers if node.instance in {None, instance} and not _wrote(node, reference)]


def _wrote(node: Node, reference: Reference) -> bool:
    return node.status is Status.DONE and any_overlap(node.written, reference)
