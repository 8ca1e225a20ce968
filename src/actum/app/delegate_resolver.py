"""Where one agent finds what a `_delegate` names: a name, a path, an address (D2), and what each may do (D12)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import DelegateError, DelegateForbidden, DelegateNotFound, IdeaError, MessageError
from ..execution.delegation.caller import SavedRequest
from ..ideas.file import IdeaText, idea_of, read_idea
from ..ideas.library import Library
from ..ideas.store import Address, Store, parse_address
from ..protocol.config import Config
from ..protocol.context import Context, is_url, redacted
from ..protocol.declaration import tools_of
from ..protocol.message import DATA_KINDS
from ..protocol.tool import Tool
from ..sources.actum_server import SCHEMES
from ..sources.fetch import Fetcher, joined_url
from ..sources.roots import locate, read_below
from .saved import SavedIdea

AnyDelegate: TypeAlias = "SavedIdea | Mapping[str, Any] | str | Path"
_Key: TypeAlias = "tuple[str, str | None]"
_IDEA = "idea:"
_SUFFIXES = (".json", ".yaml", ".yml")


@dataclass(frozen=True, kw_only=True)
class DelegateResolver:
    """The resolver of one run. Within it the same reference is read once, so that it always means the same.

    A delegate from a URL, and all that it names, is from outside: it reaches URLs, and names that were granted to it.
    """

    named: Mapping[str, AnyDelegate]
    roots: Sequence[Path]
    config: Config
    fetcher: Fetcher
    store: Store | None = None
    kinds: frozenset[str] = frozenset()
    data_kinds: frozenset[str] = DATA_KINDS
    _found: dict[_Key, SavedRequest | DelegateError] = field(default_factory=dict["_Key", Any])
    _locks: defaultdict[_Key, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def __call__(self, reference: str, tool: Tool) -> SavedRequest:
        """The saved request behind a `_delegate`.

        Raises:
            DelegateNotFound: there is nothing at that reference.
            DelegateForbidden: it may not be used from where the tool was defined.
            DelegateError: it can't be read.
        """
        key = (reference, f"{tool.origin} {id(tool.bound)}" if tool.bound is not None else tool.origin)
        async with self._locks[key]:
            if key not in self._found:
                self._found[key] = await self._tried(reference, tool)
        found = self._found[key]
        if isinstance(found, DelegateError):
            raise type(found)(found.reason, tool=tool.name) from found
        return found

    async def _tried(self, reference: str, tool: Tool) -> SavedRequest | DelegateError:
        try:
            return await self._read(reference, tool)
        except DelegateError as error:
            return error

    async def _read(self, reference: str, tool: Tool) -> SavedRequest:
        if isinstance(tool.bound, SavedIdea):
            return await self._registered(reference, tool.bound)
        is_foreign = is_url(tool.origin)
        if reference in self.named and (not is_foreign or reference in self.config.grants):
            return await self._registered(reference, self.named[reference])
        if is_url(reference):
            return await self._fetched(reference)
        if is_foreign and not reference.startswith(_IDEA) and "://" not in reference:
            return await self._fetched(joined_url(str(tool.origin), reference))
        if is_foreign:
            raise DelegateForbidden(f"a delegate from outside can't reach {redacted(reference)!r}")
        if reference.startswith(_IDEA):
            return await self._addressed(reference, tool)
        if reference.startswith(SCHEMES):
            raise DelegateForbidden(f"{redacted(reference)!r} is carried out by its server, and can't be read here")
        if "://" in reference:
            raise DelegateForbidden(f"{redacted(reference)!r}: delegates are read from http, https, idea: and files")
        bases = [Path(tool.origin).parent] if tool.origin else list(self.roots)
        return await asyncio.to_thread(self._local, reference, bases, ("",))

    async def _addressed(self, reference: str, tool: Tool) -> SavedRequest:
        """The request at an `idea:` address: in the store, else in a file below the roots or, without a domain, beside
        the one that names it, else on the domain's own server (X4)."""
        try:
            address = parse_address(reference)
        except IdeaError as error:
            raise DelegateForbidden(error.message) from error
        stored = await self._stored(address)
        if stored is not None:
            return stored
        try:
            below = f"{address.domain}/{address.file}" if address.domain else address.file
            beside = [Path(tool.origin).parent] if tool.origin and not address.domain else []
            found = await asyncio.to_thread(self._local, below, [*self.roots, *beside], _SUFFIXES)
        except DelegateNotFound:
            if address.url is None:
                raise
            found = await self._fetched(address.url)
        if not address.admits(found.version):
            there = found.version or "one without a number"
            raise DelegateNotFound(f"{redacted(reference)!r}: that version isn't available; found {there}")
        return found

    async def _stored(self, address: Address) -> SavedRequest | None:
        if self.store is None:
            return None
        library = Library(store=self.store)
        try:
            await library.find(address)
        except IdeaError:
            return None
        try:
            _, text = await library.load(address)
        except IdeaError as error:
            raise DelegateError(error.message) from error
        return _saved(text, None, roots=self.roots)

    async def _registered(self, reference: str, delegate: AnyDelegate) -> SavedRequest:
        if isinstance(delegate, str) and is_url(delegate):
            return await self._fetched(delegate)
        try:
            if isinstance(delegate, str | Path):
                delegate = await asyncio.to_thread(SavedIdea.load, delegate)
            if isinstance(delegate, SavedIdea):
                return _sound(self._of_idea(delegate), reference)
        except IdeaError as error:
            raise DelegateNotFound(error.message) from error
        try:
            return _sound(self._of_mapping(delegate), reference)
        except IdeaError as error:
            raise DelegateError(f"the delegate {redacted(reference)!r} is malformed: {error}") from error

    def _of_mapping(self, delegate: Mapping[str, Any]) -> SavedRequest:
        """What an Idea that is given as a dict says."""
        own = idea_of(delegate, self.kinds, self.data_kinds)
        return _request(own, Context(own.context, kinds=self.kinds, data_kinds=self.data_kinds), None)

    def _of_idea(self, idea: SavedIdea) -> SavedRequest:
        """A registered Idea: its paths start from where it lies, whatever its config says (D15)."""
        own = idea.context
        if idea.file is not None:
            own = Context.checked(own.messages, own.data_kinds, str(idea.file))
        return _request(idea, own, [*self.roots, *(idea.roots or [Path.cwd()])])

    async def _fetched(self, url: str) -> SavedRequest:
        fetched = await self.fetcher.fetch(url)
        try:
            # In a thread: what a stranger wrote may take long to read, YAML most of all (L5).
            text = await asyncio.to_thread(read_idea, fetched.content.decode("utf-8"), url)
        except (IdeaError, UnicodeDecodeError) as error:
            # What is wrong with it is said in its own words: they are from outside, and would be shown to a model.
            raise DelegateError(f"what was fetched from {redacted(url)!r} is not an Idea") from error
        return _saved(text, fetched.url)

    def _local(self, reference: str, bases: Sequence[Path], suffixes: Sequence[str]) -> SavedRequest:
        try:
            path = locate(reference, bases, self.roots, suffixes)
        except DelegateNotFound as error:
            known = ", ".join(sorted(self.named)) or "none"
            raise DelegateNotFound(f"{error.reason}; registered by name: {known}") from None
        content = read_below(path, self.roots, self.config.max_delegate_bytes)
        try:
            text = read_idea(content.decode("utf-8"), reference if path.suffix == ".json" else path.name)
        except (IdeaError, UnicodeDecodeError) as error:
            raise DelegateError(f"{reference!r} is not an Idea: {error}") from error
        return _sound(_saved(text, str(path), roots=self.roots), reference)


def _sound(delegate: SavedRequest, reference: str) -> SavedRequest:
    """A delegate whose tools are well-formed: its name is known here, but not in its own run (T3).

    What is wrong with one from outside is not for its caller's model to read.
    """
    for index, message in enumerate(delegate.context):
        if message.get("type") == "tool" and not delegate.is_foreign:
            try:
                list(tools_of(message, index))
            except MessageError as error:
                raise DelegateError(f"the delegate {redacted(reference)!r} is malformed: {error}") from error
    return delegate


def _saved(text: IdeaText, origin: str | None, *, roots: Sequence[Path] = ()) -> SavedRequest:
    return _request(text, Context(text.context, origin=origin), roots)


def _request(own: IdeaText | SavedIdea, context: Context, roots: Sequence[Path] | None) -> SavedRequest:
    return SavedRequest(
        context=context,
        schema=own.schema,
        meta=own.meta,
        config=own.config,
        solution=own.solution,
        is_foreign=is_url(context.origin),
        roots=roots,
    )
