"""What a run's messages fold to in the order of its calls, what a call reads of it, what crosses to it (M6, O8, S8)."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ...dataflow.expression import MISSING
from ...dataflow.fold import UnfitWrite
from ...dataflow.node import Node
from ...dataflow.reference import CALLS, PathTree, Reference, any_overlap, call_index, overlaps
from ...errors import InvalidParameters, MessageError
from ...protocol.applying import Rank, applied, listed_rank, moved_ranks, rank_in, rank_of, separates
from ...protocol.call import Call, Place
from ...protocol.context import Context, Memory, absorb
from ...protocol.message import AGAIN, OF, RANK, RESULT, SHOWN, Write, instance_of, is_left, kind_of, place_of, write_of
from ...protocol.scopes import Catalogue, InstanceOf, scope_path, scoped
from ...schema.json import JsonObject

_When = tuple[int, int, Rank]
"""When a write applies: how many requests had been made, how often the call was made before, where it is listed."""
_NEVER: _When = (-1, -1, (-1, -1, -1))
_NOWHERE: Rank = (-1, -1, -1)
_ANY: Rank = (sys.maxsize, -1, -1)


class _Note:
    """What calls have written at one path, and there or inside."""

    __slots__ = ("below", "below_rank", "count", "here", "here_rank", "is_disordered", "is_fresh")

    def __init__(self) -> None:
        self.here = self.below = _NEVER
        self.here_rank = self.below_rank = _NOWHERE
        self.count = 0
        self.is_fresh = False
        """Whether nothing was there before the first of them."""
        self.is_disordered = False
        """Whether they were folded in another order than theirs."""


class Landed:
    """Notes writes as they are folded; each costs its path."""

    def __init__(self) -> None:
        self._notes: PathTree[_Note] = PathTree(_Note)
        self._disordered: set[str] = set()
        self.mixed: set[str] = set()
        """The kinds of which one path was written in another order than that of the calls."""

    def write(self, reference: Reference, when: _When, *, is_fresh: bool) -> None:
        """Note a write; `is_fresh` says that its path held nothing."""
        kind = reference.kind
        notes = self._notes.notes_to(reference)
        last, rank = notes[-1], when[2]
        if last.count == 0:
            last.is_fresh = is_fresh
        for note in notes:
            if note.below > when:
                note.is_disordered = True
                self._disordered.add(kind)
            if note.here > when or (note is last and note.below > when):
                self.mixed.add(kind)
            note.count += 1
            note.below, note.below_rank = max(note.below, when), max(note.below_rank, rank)
        last.here, last.here_rank = max(last.here, when), max(last.here_rank, rank)

    def is_in_order(self, reference: Reference) -> bool:
        """Whether what is folded at a path lies in order."""
        if reference.kind in self.mixed:
            return False
        if reference.kind not in self._disordered:
            return True
        _, note = self._notes.around(reference)
        return note is None or not note.is_disordered

    def order(self, kind: str) -> None:
        """A kind has been folded in order."""
        self.mixed.discard(kind)
        if kind in self._disordered:
            self._disordered.discard(kind)
            for note in self._notes.inside(Reference(kind)):
                note.is_disordered = False

    def shows_later(self, reference: Reference, rank: Rank, *, is_own: bool = False) -> bool:
        """Whether what stands at a path isn't what a call of this rank is to read: one listed later has written there.

        Where nothing stood there before the only write, that is what the call waited for, if it doesn't write there.
        """
        above, note = self._notes.around(reference)
        if any(upper.here_rank > rank for upper in above):
            return True
        if note is None or note.below_rank <= rank:
            return False
        return is_own or not (
            note.count == 1
            and note.here_rank == note.below_rank
            and note.is_fresh
            and all(upper.here_rank == _NOWHERE for upper in above)
        )


class Folding:
    """Folds the messages of one journal as calls write, and again where they have not written in their order."""

    def __init__(self, messages: list[JsonObject], data_kinds: Collection[str]) -> None:
        self._messages = messages
        self.data_kinds = data_kinds
        self._memory = Memory()
        self._ranks: dict[Place, Rank] = {}
        """Where calls are listed that a corrected answer has moved (L3)."""
        self._unlisted: dict[Place, Rank] = {}
        """The calls that a correction hasn't listed so far: they stand behind what it lists (L3)."""
        self._left: defaultdict[Place, list[int]] = defaultdict(list)
        """The indices of what calls have left, by place, of the messages that are `_noted`."""
        self._noted = 0
        self._landed = Landed()
        self._made: dict[str, int] = {}
        """How often calls that have written were made again, by place (O4)."""
        self._unfolded: dict[str, int] = {}
        """The calls whose messages are left and not folded yet, as others before them are to write first (O8)."""
        self._requests = 0
        self._fold_all()

    def begin(self) -> None:
        """What is left from now on applies behind all that was left before."""
        self._requests += 1

    def rank(self, place: Place) -> Rank:
        """Where a call is listed."""
        return rank_in(self._unlisted, place) or rank_in(self._ranks, place) or rank_of(place)

    def listed(self, message: JsonObject) -> Rank | None:
        """Where the call is listed that has left a message; None for what no call has left."""
        rank = listed_rank(message, self._ranks)
        if rank is None or not self._unlisted or (place := place_of(message)) is None:
            return rank
        return rank_in(self._unlisted, place) or rank

    @property
    def memory(self) -> Memory:
        """The folded values of all kinds."""
        return self.in_order(map(Reference, self._landed.mixed - {RESULT})) if self._landed.mixed else self._memory

    def in_order(self, references: Iterable[Reference]) -> Memory:
        """The folded values, in order at these paths."""
        for reference in references:
            if not self._landed.is_in_order(reference):
                self._memory.take(reference.kind, self._fold_in_order(reference.kind))
                self._landed.order(reference.kind)
        return self._memory

    def read(self, reference: Reference, instance: str | None, reader: Node | None) -> Any:
        """What a reference names; for a call that reads it, what that is to read there (see `last_read`)."""
        memory, rank = self.in_order([reference]), None if reader is None else reader.rank
        if reader is not None and rank is not None:
            last, _ = self.last_read(reference, instance, rank, reader.own_writes(reference))
            memory = memory if last is _ANY else self._fold_in_order(reference.kind, last)
        return memory.read(reference, instance)

    def reads_parts(self, reference: Reference, instance: str | None, reader: Node) -> bool:
        """Whether a call reads at a path what those behind it have filled in part by part."""
        own = reader.own_writes(reference)
        return reader.rank is not None and self.last_read(reference, instance, reader.rank, own)[1]

    def last_read(
        self, reference: Reference, instance: str | None, rank: Rank, own: Sequence[Reference] = ()
    ) -> tuple[Rank, bool]:
        """The rank of the last call whose writes a call reads at a path, and whether it has filled in a part alone.

        It is the reader's own, where that is enough. Where nothing is there then, it is that of the first behind it
        that has written there, or, where that has filled in a part alone, of the last; but for those that write behind
        what the reader writes there itself, at `own`. It is `_ANY` where what stands there is what the call reads.
        """
        if not self._landed.shows_later(reference, rank, is_own=bool(own)):
            return _ANY, False
        if self._fold_in_order(reference.kind, rank).read(reference, instance) is not MISSING:
            return rank, False
        later: dict[Rank, bool] = {}
        for index, message in enumerate(self._messages):
            writer = self.listed(message) if kind_of(message, self.data_kinds) == reference.kind else None
            if writer is None or writer <= rank or (write := write_of(message, index, self.data_kinds)) is None:
                continue
            if own and instance in (None, write.instance) and any_overlap(own, write.reference):
                continue
            if overlaps(write.reference, reference):
                later[writer] = write.reference != reference and reference.covers(write.reference)
        for writer, is_part in sorted(later.items()):
            if self._fold_in_order(reference.kind, writer).read(reference, instance) is not MISSING:
                return (max(later) if is_part else writer), is_part
        return rank, False

    def apply(self, call: Call, of: str, write: Write) -> None:
        """Fold what a call has left, in its turn (O8).

        Raises:
            InvalidParameters: the value at the path can't take it.
        """
        self._unfolded.pop(of, None)
        is_fresh = self._memory.read(write.reference, write.instance) is MISSING
        self._note_landed(write, of, self.rank(Place.parse(of)), is_fresh=is_fresh)
        try:
            self._memory.write(write)
        except UnfitWrite as error:
            problem = f"can't {write.method} {write.reference}: {error}"
            raise InvalidParameters(problem, tool=call.tool, path="_outputPath") from None

    def leave(self) -> None:
        """The result of a call without output path is about to be left: it is folded when something reads them."""
        self._landed.mixed.add(RESULT)

    def begin_writing(self, of: str) -> None:
        """A call is about to write what it has returned: once more, where its path had been erased (O4)."""
        self._made[of] = self._unfolded[of] = self._made.get(of, -1) + 1

    def listing(self, of: str) -> JsonObject:
        """The marks of a message whose call has been made before, or has been moved by a corrected answer (O8)."""
        marks: JsonObject = {}
        if self._ranks and (rank := rank_in(self._ranks, Place.parse(of))) is not None:
            marks[RANK] = _rank_mark(rank)
        if again := self._made.get(of, 0):
            marks[AGAIN] = again
        return marks

    def move(self, place: Place, answer: int, index: int) -> int | None:
        """Let a call be listed where a corrected answer lists it (L3); the index of the first message so marked."""
        self._ranks[place] = answer, index, -1
        self._unlisted.pop(place, None)
        indices = self._left_by(place)
        for at in indices:
            message = self._messages[at]
            of = Place.parse(message[OF])
            # It belongs to what the correction leaves, which is shown later.
            rest = {key: value for key, value in message.items() if key != SHOWN}
            self._messages[at] = {**rest, RANK: _rank_mark(self.rank(of))}
            if (write := write_of(message, at, self.data_kinds)) is not None:
                self._note_landed(write, str(of), self.rank(of), is_fresh=False)
        return indices[0] if indices else None

    def begin_again(self, places: Iterable[Place], answer: int) -> None:
        """Let calls stand behind all that an answer lists, which corrects theirs and may list them later (L3).

        Those that the answer before hasn't listed stand where they were.
        """
        left = [at for place in self._unlisted for at in self._left_by(place)]
        kinds = (kind_of(self._messages[at], self.data_kinds) for at in left)
        self._landed.mixed |= {kind for kind in kinds if kind is not None}
        self._unlisted.clear()
        for number, place in enumerate(sorted(places, key=rank_of)):
            rank = self._unlisted[place] = answer, _BEHIND + number, -1
            for at in self._left_by(place):
                if (write := write_of(self._messages[at], at, self.data_kinds)) is not None:
                    self._note_landed(write, self._messages[at][OF], rank, is_fresh=False)

    def note_insertion(self) -> None:
        """A message was put between others."""
        self._left.clear()
        self._noted = 0

    def _left_by(self, place: Place) -> Sequence[int]:
        """The indices of what a call has left."""
        for at in range(self._noted, len(self._messages)):
            message = self._messages[at]
            if "_call" in message and (writer := place_of(message)) is not None:
                self._left[writer.parent or writer].append(at)
        self._noted = len(self._messages)
        return self._left.get(place, ())

    def _fold_all(self) -> None:
        """Fold the messages that a run begins with, and note what calls had written (M6, O8)."""
        self._ranks = moved_ranks(self._messages)
        if not any("_call" in message for message in self._messages):
            for index, message in enumerate(self._messages):
                absorb(self._memory, message, index, self.data_kinds)
            return
        held: set[Any] = set()
        others = ((at, it) for at, it in enumerate(self._messages, 1) if listed_rank(it, self._ranks) is None)
        begin = max((at for at, message in others if separates(message, held)), default=0)
        for index, message in applied(self._messages):
            rank, write = listed_rank(message, self._ranks), None
            if "_call" in message and rank is not None:
                write = write_of(message, index, self.data_kinds)
            if rank is not None and write is not None:
                again = self._made[message[OF]] = message.get(AGAIN, 0)
                is_fresh = self._memory.read(write.reference, write.instance) is MISSING
                is_open = index >= begin and SHOWN not in message
                self._landed.write(write.reference, (0 if is_open else -1, again, rank), is_fresh=is_fresh)
            absorb(self._memory, message, index, self.data_kinds)

    def _fold_in_order(self, kind: str, last: Rank | None = None) -> Memory:
        """A kind folded in order; without what calls have left that are listed behind a place, where one is given."""
        memory = Memory()
        for index, message in applied(self._messages):
            if kind_of(message, self.data_kinds) != kind or _is_of(message, self._unfolded):
                continue
            rank = None if last is None else self.listed(message)
            if rank is None or last is None or rank <= last:
                absorb(memory, message, index, self.data_kinds)
        return memory

    def _note_landed(self, write: Write, of: str, rank: Rank, *, is_fresh: bool) -> None:
        self._landed.write(write.reference, (self._requests, self._made.get(of, 0), rank), is_fresh=is_fresh)


def _is_of(message: JsonObject, calls: Mapping[str, int]) -> bool:
    """Whether one of these calls has left a message, made for the time that stands beside its place."""
    return bool(calls) and calls.get(message.get(OF, "")) == message.get(AGAIN, 0)


def _rank_mark(rank: Rank) -> str:
    """A rank as the place that a mark names."""
    answer, index, item = rank
    return f"{answer}.{index}" if item < 0 else f"{answer}.{index}.{item}"


_BEHIND = 1_000_000
"""More than an answer has calls."""
_Order: TypeAlias = tuple[int, float]
_NONE: _Order = (-1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """A call that is handed scopes: where it is listed, and what it refers to, which crosses whoever wrote it."""

    rank: Rank
    references: Sequence[Reference] = ()


@dataclass(slots=True)
class _Left:
    """The messages that calls have left, by type or kind, in the order in which the calls are listed."""

    folding: Folding
    _seen: int = 0
    _messages: defaultdict[str, list[tuple[_Order, int, JsonObject]]] = field(
        default_factory=lambda: defaultdict[str, list[tuple[_Order, int, JsonObject]]](list)
    )
    _latest: dict[str, _Order] = field(default_factory=dict[str, _Order])

    def forget(self) -> None:
        """Look at all messages anew: one was inserted among them."""
        self._seen = 0
        self._messages.clear()
        self._latest.clear()

    def after(
        self,
        recipient: Recipient,
        kinds: Collection[str],
        messages: Sequence[JsonObject],
        last_read: Callable[[Reference], tuple[Rank, bool]],
    ) -> set[int]:
        """The ids of the messages of these kinds that calls from the recipient on have left unasked.

        `last_read` says of a path that it refers to up to which call it reads what was written there (O8).
        """
        self._take(messages)
        start = recipient.rank[:2]
        if all(self._latest.get(kind, _NONE) < start for kind in kinds):
            return set()
        indexes = {call_index(ref) for ref in recipient.references if ref.kind == CALLS}
        read = [(ref, last_read(ref)[0]) for ref in recipient.references if ref.kind in kinds]
        unasked: set[int] = set()
        later = (entry for kind in kinds for entry in self._messages.get(kind, ()) if entry[0] >= start)
        for order, index, message in later:
            write = write_of(message, index, self.folding.data_kinds)
            is_asked = (order[0] == start[0] and order[1] in indexes) or (
                write is not None and any(overlaps(ref, write.reference) and order <= last[:2] for ref, last in read)
            )
            if not is_asked:
                unasked.add(id(message))
        return unasked

    def _take(self, messages: Sequence[JsonObject]) -> None:
        for index in range(self._seen, len(messages)):
            message = messages[index]
            rank = self.folding.listed(message) if is_left(message) else None
            if rank is not None:
                kind = kind_of(message, self.folding.data_kinds) or str(message.get("type"))
                order = rank[:2]
                self._messages[kind].append((order, index, message))
                self._latest[kind] = max(order, self._latest.get(kind, order))
        self._seen = len(messages)


class Crossing:
    """Lets what scopes name cross from the messages of one journal.

    What calls listed later have left doesn't cross, nor what the call itself has when it was made before (S8, L8): so
    timing has no say in what does, nor has a cut.
    """

    def __init__(self, messages: Sequence[JsonObject], folding: Folding, origin: str | None) -> None:
        self._messages = messages
        self._folding = folding
        self._data_kinds = folding.data_kinds
        self._origin = origin
        self._catalogue = Catalogue((), self._data_kinds)
        self._seen = 0
        """How many of the messages it has taken in."""
        self._left = _Left(folding)

    def forget(self) -> None:
        """Look at all messages anew: some of them have changed."""
        self._catalogue, self._seen = Catalogue((), self._data_kinds), 0
        self._left.forget()

    def scoped(
        self,
        scopes: Sequence[str],
        instance: str | None,
        recipient: Recipient | None = None,
        errors: Sequence[JsonObject] = (),
        instance_of: InstanceOf = instance_of,
    ) -> Context:
        """What of the context crosses to a call (S1-S6): nothing that calls listed after it have left (S8).

        `errors` are those of calls listed before it that are to stand in the context at the end of the tick (L2).
        """
        kinds = {scope_path(scope).kind for scope in scopes}
        later = set[int]()
        if recipient is not None:
            last = partial(self._folding.last_read, instance=instance, rank=recipient.rank)
            later = self._left.after(recipient, kinds, self._messages, last)
        if later:
            return self._without(later, scopes, instance, errors, instance_of)
        for index in range(self._seen, len(self._messages)):
            self._catalogue.add(self._messages[index])
        self._seen = len(self._messages)
        memory = self._folding.in_order(map(scope_path, scopes))
        return scoped(self._catalogue, memory, scopes, instance, self._origin, errors, instance_of)

    def _without(self, left_out: set[int], scopes: Sequence[str], instance: str | None, *rest: Any) -> Context:
        """What crosses of the context without some messages, by their ids."""
        catalogue, memory = Catalogue((), self._data_kinds), Memory()
        for index, message in applied(self._messages):
            if id(message) in left_out:
                continue
            catalogue.add(message)
            # What was built on a write that is left out has nothing to stand on, and is left out with it.
            with suppress(MessageError):
                absorb(memory, message, index, self._data_kinds)
        return scoped(catalogue, memory, scopes, instance, self._origin, *rest)
