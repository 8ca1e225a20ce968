"""Which paths calls have written in another order than that in which they are listed (O8)."""

from __future__ import annotations

from ...dataflow.path_tree import PathTree
from ...dataflow.reference import Reference
from ...protocol.applying import Rank

_When = tuple[int, int, Rank]
"""When a write applies: how many requests had been made, how often the call was made before, where it is listed."""
_NEVER: _When = (-1, -1, (-1, -1, -1))
_NOWHERE: Rank = (-1, -1, -1)


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
    """Takes in writes as they are folded; each costs its path."""

    def __init__(self) -> None:
        self._notes: PathTree[_Note] = PathTree(_Note)
        self._disordered: set[str] = set()
        self.mixed: set[str] = set()
        """The kinds of which one path was written in another order than that of the calls."""

    def write(self, reference: Reference, when: _When, *, is_fresh: bool) -> None:
        """Note a write; `is_fresh` says that its path held nothing."""
        kind = reference.kind
        way = self._notes.way(reference)
        last, rank = way[-1], when[2]
        if last.count == 0:
            last.is_fresh = is_fresh
        for note in way:
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

    def shows_later(self, reference: Reference, rank: Rank) -> bool:
        """Whether what stands at a path isn't what a call of this rank is to read: one listed later has written there.

        Where nothing stood there before the only write, that is what the call waited for.
        """
        above, note = self._notes.around(reference)
        if any(one.here_rank > rank for one in above):
            return True
        if note is None or note.below_rank <= rank:
            return False
        return not (
            note.count == 1
            and note.here_rank == note.below_rank
            and note.is_fresh
            and all(one.here_rank == _NOWHERE for one in above)
        )
