"""A library: saving and finding Ideas in a store by address, branch, version and moment (X3, X4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ..errors import IdeaError, IdeaNotFound
from ..protocol.message import kind_of
from ..schema.gathering import closed
from ..schema.json import JsonObject, encode, is_object
from ..schema.validator import admits
from ..schema.walk import ANNOTATIONS, properties_of, required_of
from .file import IdeaText, read_idea, write_idea
from .store import FIRST, MAIN, Address, ChangeKind, Draft, Line, Store, StoredVersion, Version

_ORDER: tuple[ChangeKind, ...] = ("none", "solution", "compatible", "breaking")
_SAME: ChangeKind = "solution"
"""The kind of a change that leaves both schemas the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How much a change means, and in words what it is and whom it breaks."""

    kind: ChangeKind
    reasons: tuple[str, ...] = ()


def change_between(old: IdeaText, new: IdeaText) -> Change:
    """The kind of change between two versions of an Idea.

    Whoever calls it gives an input and reads an output. So every input that was taken must still be taken, and every
    output that comes now must be one that could come before. Callers give what the schema names and nothing else,
    so a new optional member of the input breaks nobody; readers pass over members of the output that they don't know,
    unless the schema says that there are none. What can't be proven to break nothing breaks.
    """
    if write_idea(old) == write_idea(new):
        return Change(kind="none")
    parts = [
        *_side("input", input_schema(old.context), input_schema(new.context)),
        *_side("output", old.schema, new.schema),
    ]
    kinds: list[ChangeKind] = [_SAME, *(kind for kind, _ in parts)]
    kind = max(kinds, key=_ORDER.index)
    reasons = tuple(reason for _, reason in parts) or tuple(_other_changes(old, new))
    return Change(kind=kind, reasons=reasons)


def input_schema(context: Iterable[JsonObject]) -> Any:
    """What an Idea with this context takes: the schema of its last input message that has one; None if none has."""
    schemas = [message["schema"] for message in context if kind_of(message) == "input" and "schema" in message]
    return schemas[-1] if schemas else None


def _side(side: str, old: Any, new: Any) -> Iterator[tuple[ChangeKind, str]]:
    if encode(old, sort_keys=True) == encode(new, sort_keys=True):
        return
    before: Any = {} if old is None else old
    after: Any = {} if new is None else new
    is_input = side == "input"
    is_admitted = admits(after, closed(before)) if is_input else admits(before, after)
    words = list(_differences(side, before, after, ""))
    if is_admitted is True:
        for text in words or [f"the {side} is described otherwise"]:
            yield "compatible", text
        return
    party = "callers" if is_input else "readers"
    broken = [text for text in words if _hurts(text, is_input=is_input)] or words
    unsure = "" if is_admitted is False else " (it could not be proven that they aren't broken)"
    for text in broken or [f"the {side} changes"]:
        yield "breaking", f"{text}: breaks {party}{unsure}"


def _differences(side: str, old: Any, new: Any, path: str) -> Iterator[str]:
    """Where two schemas differ, in words."""
    where = f"{side}{path}"
    if not is_object(old) or not is_object(new):
        if old != new:
            yield f"{where} changes"
        return
    mine, theirs = properties_of(old), properties_of(new)
    must, now = required_of(old), required_of(new)
    yield from (f"{where}.{name} is removed" for name in mine if name not in theirs)
    for name in theirs:
        if name not in mine:
            yield f"{where}.{name} is added{', required' if name in now else ''}"
            continue
        if (name in must) != (name in now):
            yield f"{where}.{name} is {'required now' if name in now else 'optional now'}"
        yield from _differences(side, mine[name], theirs[name], f"{path}.{name}")
    if "items" in old or "items" in new:
        yield from _differences(side, old.get("items", {}), new.get("items", {}), f"{path}[]")
    for key in sorted((old.keys() | new.keys()) - {"properties", "required", "items"} - ANNOTATIONS):
        if old.get(key) != new.get(key):
            yield f"{where}: {key} was {encode(old.get(key))}, is {encode(new.get(key))}"


def _hurts(text: str, *, is_input: bool) -> bool:
    harmless = ("optional now", "is added") if is_input else ("required now", "is added")
    return not text.endswith(harmless) or (is_input and text.endswith("required"))


def _other_changes(old: IdeaText, new: IdeaText) -> Iterator[str]:
    for name in ("context", "config", "solution", "meta"):
        if getattr(old, name) != getattr(new, name):
            yield f"the {name} changes"


_MOST_TRIES = 1_000
"""How often another writer may be faster before saving fails."""
_CREATION = Change(kind="none", reasons=("it is new",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The result of saving; `change` is against the version before, and of kind none if nothing was new."""

    entry: StoredVersion
    change: Change
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Ideas in a store, seen through a search path of branches, and as of a moment.

    The first branch of the path that has the Idea is the one that is seen; a branch that an address names is the only
    one. `at` is in microseconds since the epoch: what was saved later isn't there.
    """

    store: Store
    branches: Sequence[str] = (MAIN,)
    at: int | None = None

    async def find(self, address: Address) -> StoredVersion:
        """The version that an address means.

        Raises:
            IdeaError: there is none.
        """
        for branch in [address.branch] if address.branch is not None else self.branches:
            line = Line(domain=address.domain, path=address.path, branch=branch)
            at = None if address.is_exact else self.at
            if (entry := await self.store.latest(line, address.version, at)) is not None:
                return entry
        raise IdeaNotFound(f"there is no {address} on {address.branch or ', '.join(self.branches)}")

    async def load(self, address: Address) -> tuple[StoredVersion, IdeaText]:
        """The version that an address means, and the Idea.

        Raises:
            IdeaError: there is none, or it isn't one.
        """
        entry = await self.find(address)
        return entry, read_idea((await self.store.content(entry.digest)).decode("utf-8"), str(entry.address))

    async def save(self, idea: IdeaText, address: Address, *, note: str = "") -> Saved:
        """Save an Idea as the next version of its line: how far its number is raised, the two schemas say.

        What the Idea's own meta says of its version is not asked. Writers that come at once are put in an order.

        Raises:
            IdeaError: the address names a version.
        """
        if address.version:
            raise IdeaError(f"{address}: the store chooses the version: save without one")
        line = Line(domain=address.domain, path=address.path, branch=address.branch or self.branches[0])
        for _ in range(_MOST_TRIES):
            last = await self.store.latest(line)
            saved = await self._append(idea, line, last, note)
            if saved is not None:
                return saved
        raise IdeaError(f"{address}: others keep saving it: gave up after {_MOST_TRIES} tries")

    async def branch(self, name: str, address: Address) -> StoredVersion:
        """Begin a branch of an Idea at the version that an address means.

        Raises:
            IdeaError: the branch has that Idea already.
        """
        origin, idea = await self.load(address)
        line = replace(origin.line, branch=name)
        draft = _draft(idea, line, origin.version, origin.sequence, "")
        entry = await self.store.append(draft, None)
        if entry is None:
            raise IdeaError(f"the branch {name!r} already has {origin.line.path!r}")
        return entry

    async def promote(self, address: Address, branch: str, *, note: str = "") -> Saved:
        """Save the version that an address means as the next one of another branch."""
        entry, idea = await self.load(address)
        target = Address(domain=entry.line.domain, path=entry.line.path, branch=branch)
        return await self.save(idea, target, note=note or f"from {entry.address}")

    async def _append(self, idea: IdeaText, line: Line, last: StoredVersion | None, note: str) -> Saved | None:
        if last is None:
            entry = await self.store.append(_draft(idea, line, FIRST, None, note), None)
            return None if entry is None else Saved(entry=entry, change=_CREATION, is_new=True)
        before = read_idea((await self.store.content(last.digest)).decode("utf-8"), str(last.address))
        change = change_between(_without_identity(before), _without_identity(idea))
        if change.kind == "none":
            return Saved(entry=last, change=change, is_new=False)
        draft = _draft(idea, line, last.version.after(change.kind), last.sequence, note)
        entry = await self.store.append(draft, last.sequence)
        return None if entry is None else Saved(entry=entry, change=change, is_new=True)


_IDENTITY = ("domain", "path", "version", "branches", "createdAt")


def _without_identity(idea: IdeaText) -> IdeaText:
    """An Idea without what the store itself adds, which is no change."""
    meta = {key: value for key, value in idea.meta.items() if key not in _IDENTITY}
    return replace(idea, meta=meta)


def _draft(idea: IdeaText, line: Line, version: Version, parent: int | None, note: str) -> Draft:
    meta: dict[str, Any] = {**idea.meta, "path": line.path, "version": str(version), "branches": [line.branch]}
    if line.domain:
        meta["domain"] = line.domain
    content = write_idea(replace(idea, meta=meta)).encode()
    return Draft(line=line, version=version, content=content, parent=parent, note=note)


def as_microseconds(text: str) -> int:
    """A moment in microseconds since the epoch, from ISO 8601; without an offset it is UTC.

    Raises:
        IdeaError: for anything else.
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise IdeaError(f"{text[:40]!r} is not a point in time: write it as 2026-11-20T12:00:00Z") from None
    whole = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    since = whole - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def shown_moment(microseconds: int) -> str:
    """A moment as it is printed."""
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="microseconds")
