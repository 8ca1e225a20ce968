"""Finds what a `_delegate` names, a name, a path or an address (D2), and says what each may do (D12)."""

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
    """The resolver of one run. It reads each reference once, so that a reference keeps its meaning within the run.

    A delegate from a URL, and all that it names, is from outside: it reaches only URLs and the names granted to it.
    """

    named: Mapping[str, AnyDelegate]
    roots: Sequence[Path]
    config: Config
    fetcher: Fetcher
    store: Store | None = None
    kinds: frozenset[str] = frozenset()
    data_kinds: frozenset[str] = DATA_KINDS
    _results: dict[_Key, SavedRequest | DelegateError] = field(default_factory=dict["_Key", Any])
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
            if key not in self._results:
                try:
                    self._results[key] = await self._read(reference, tool)
                except DelegateError as error:
                    self._results[key] = error
        result = self._results[key]
        if isinstance(result, DelegateError):
            raise type(result)(result.reason, tool=tool.name) from result
        return result

    async def _read(self, reference: str, tool: Tool) -> SavedRequest:
        if isinstance(tool.bound, SavedIdea):
            return await self._load_named(reference, tool.bound)
        is_foreign = is_url(tool.origin)
        if reference in self.named and (not is_foreign or reference in self.config.grants):
            return await self._load_named(reference, self.named[reference])
        if is_url(reference):
            return await self._fetch(reference)
        if is_foreign and not reference.startswith(_IDEA) and "://" not in reference:
            return await self._fetch(joined_url(str(tool.origin), reference))
        if is_foreign:
            raise DelegateForbidden(f"a delegate from outside can't reach {redacted(reference)!r}")
        if reference.startswith(_IDEA):
            return await self._load_address(reference, tool)
        if reference.startswith(SCHEMES):
            raise DelegateForbidden(f"{redacted(reference)!r} is carried out by its server, and can't be read here")
        if "://" in reference:
            raise DelegateForbidden(f"{redacted(reference)!r}: delegates are read from http, https, idea: and files")
        bases = [Path(tool.origin).parent] if tool.origin else list(self.roots)
        return await asyncio.to_thread(self._load_file, reference, bases, ("",))

    async def _load_address(self, reference: str, tool: Tool) -> SavedRequest:
        """The request at an `idea:` address: in the store, in a file below the roots or, without a domain, beside the
        file that names it, or on the domain's own server (X4)."""
        try:
            address = parse_address(reference)
        except IdeaError as error:
            raise DelegateForbidden(error.message) from error
        stored = await self._load_stored(address)
        if stored is not None:
            return stored
        try:
            below = f"{address.domain}/{address.file}" if address.domain else address.file
            beside = [Path(tool.origin).parent] if tool.origin and not address.domain else []
            delegate = await asyncio.to_thread(self._load_file, below, [*self.roots, *beside], _SUFFIXES)
        except DelegateNotFound:
            if address.url is None:
                raise
            delegate = await self._fetch(address.url)
        if not address.admits(delegate.version):
            version = delegate.version or "one without a number"
            raise DelegateNotFound(f"{redacted(reference)!r}: that version isn't available; found {version}")
        return delegate

    async def _load_stored(self, address: Address) -> SavedRequest | None:
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
        return _from_text(text, None, roots=self.roots)

    async def _load_named(self, reference: str, delegate: AnyDelegate) -> SavedRequest:
        if isinstance(delegate, str) and is_url(delegate):
            return await self._fetch(delegate)
        try:
            if isinstance(delegate, str | Path):
                delegate = await asyncio.to_thread(SavedIdea.load, delegate)
            if isinstance(delegate, SavedIdea):
                return _checked(self._of_idea(delegate), reference)
        except IdeaError as error:
            raise DelegateNotFound(error.message) from error
        try:
            return _checked(self._of_mapping(delegate), reference)
        except IdeaError as error:
            raise DelegateError(f"the delegate {redacted(reference)!r} is malformed: {error}") from error

    def _of_mapping(self, delegate: Mapping[str, Any]) -> SavedRequest:
        """The request of an Idea that is given as a dict."""
        text = idea_of(delegate, self.kinds, self.data_kinds)
        return _request(text, Context(text.context, kinds=self.kinds, data_kinds=self.data_kinds), None)

    def _of_idea(self, idea: SavedIdea) -> SavedRequest:
        """The request of a registered Idea: its paths start from its file, whatever its config says (D15)."""
        context = idea.context
        if idea.file is not None:
            context = Context.checked(context.messages, context.data_kinds, str(idea.file))
        return _request(idea, context, [*self.roots, *(idea.roots or [Path.cwd()])])

    async def _fetch(self, url: str) -> SavedRequest:
        fetched = await self.fetcher.fetch(url)
        try:
            # In a thread: a stranger's text may take long to parse, above all YAML (L5).
            text = await asyncio.to_thread(read_idea, fetched.content.decode("utf-8"), url)
        except (IdeaError, UnicodeDecodeError) as error:
            # The parser's message would quote text from outside to a model.
            raise DelegateError(f"what was fetched from {redacted(url)!r} is not an Idea") from error
        return _from_text(text, fetched.url)

    def _load_file(self, reference: str, bases: Sequence[Path], suffixes: Sequence[str]) -> SavedRequest:
        try:
            path = locate(reference, bases, self.roots, suffixes)
        except DelegateNotFound as error:
            names = ", ".join(sorted(self.named)) or "none"
            raise DelegateNotFound(f"{error.reason}; registered by name: {names}") from None
        content = read_below(path, self.roots, self.config.max_delegate_bytes)
        try:
            text = read_idea(content.decode("utf-8"), reference if path.suffix == ".json" else path.name)
        except (IdeaError, UnicodeDecodeError) as error:
            raise DelegateError(f"{reference!r} is not an Idea: {error}") from error
        return _checked(_from_text(text, str(path), roots=self.roots), reference)


def _checked(delegate: SavedRequest, reference: str) -> SavedRequest:
    """A delegate whose tools are well-formed. They are checked here, since errors in its own run lack its name (T3).

    Errors in one from outside are not shown to its caller's model.
    """
    for index, message in enumerate(delegate.context):
        if message.get("type") == "tool" and not delegate.is_foreign:
            try:
                list(tools_of(message, index))
            except MessageError as error:
                raise DelegateError(f"the delegate {redacted(reference)!r} is malformed: {error}") from error
    return delegate


def _from_text(text: IdeaText, origin: str | None, *, roots: Sequence[Path] = ()) -> SavedRequest:
    return _request(text, Context(text.context, origin=origin), roots)


def _request(source: IdeaText | SavedIdea, context: Context, roots: Sequence[Path] | None) -> SavedRequest:
    return SavedRequest(
        context=context,
        schema=source.schema,
        meta=source.meta,
        config=source.config,
        solution=source.solution,
        is_foreign=is_url(context.origin),
        roots=roots,
    )
