"""Fetches untrusted URLs: bounded, without credentials, only from public hosts (D12)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ..errors import DelegateError, DelegateForbidden, DelegateNotFound, IdeaError
from ..protocol.context import redacted
from ..schema.installing import pip_install
from ..schema.json import JsonObject
from .files import write_bytes, write_text
from .network import Connect, Network, Resolve

if TYPE_CHECKING:
    from httpcore2 import Response
    from httpx2 import URL


_MOST_BYTES = 32_000_000
"""How much content is kept in memory."""
_LONGEST_FRESH = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """Cached content, with what its server said about revalidating it."""

    content: bytes
    etag: str | None = None
    modified: str | None = None
    fresh_until: float = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether it may be used without asking again."""
        return time.time() < self.fresh_until

    @property
    def conditions(self) -> dict[str, str]:
        """The headers of a conditional request for it."""
        headers = {"if-none-match": self.etag, "if-modified-since": self.modified}
        return {name: value for name, value in headers.items() if value is not None}


class Cache:
    """Contents by URL, in memory and in a folder, if there is one. Files are checked by digest: changed ones count as
    absent."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._memory: OrderedDict[str, Cached] = OrderedDict()
        self._bytes = 0

    def find(self, url: str) -> Cached | None:
        """The cached content of a URL."""
        cached = self._memory.get(url)
        return cached if cached is not None or self._folder is None else _read(self._folder, url)

    def keep(self, url: str, content: bytes, headers: Mapping[str, str]) -> None:
        """Cache the content of a URL, unless its server forbids it."""
        directives = _directives(headers.get("cache-control", ""))
        self._drop(url)
        if "no-store" in directives:
            return
        age = directives.get("max-age", "")
        seconds = min(float(age), _LONGEST_FRESH) if age.isdigit() and "no-cache" not in directives else 0.0
        cached = Cached(
            content=content,
            etag=headers.get("etag"),
            modified=headers.get("last-modified"),
            fresh_until=time.time() + seconds if seconds else 0.0,
        )
        if not cached.conditions and not seconds:
            return
        self._memory[url] = cached
        self._bytes += len(content)
        while self._bytes > _MOST_BYTES and len(self._memory) > 1:
            self._drop(next(iter(self._memory)))
        if self._folder is not None:
            _write(self._folder, url, cached)

    def _drop(self, url: str) -> None:
        cached = self._memory.pop(url, None)
        self._bytes -= len(cached.content) if cached is not None else 0


def _directives(header: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in header.lower().split(","))
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(folder: Path, url: str) -> Cached | None:
    try:
        note: JsonObject = json.loads((folder / "urls" / f"{_digest(url.encode())}.json").read_text("utf-8"))
        content = (folder / "content" / str(note["digest"])).read_bytes()
        if note["url"] != url or _digest(content) != note["digest"]:
            return None
        return Cached(
            content=content, etag=note["etag"], modified=note["modified"], fresh_until=float(note["fresh_until"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(folder: Path, url: str, cached: Cached) -> None:
    digest = _digest(cached.content)
    note = {
        "url": url,
        "digest": digest,
        "etag": cached.etag,
        "modified": cached.modified,
        "fresh_until": cached.fresh_until,
    }
    try:
        write_bytes(folder / "content" / digest, cached.content)
        write_text(folder / "urls" / f"{_digest(url.encode())}.json", json.dumps(note))
    except IdeaError:
        return  # the content is fetched, if not cached


_REDIRECTS = {301, 302, 303, 307, 308}
_GONE = {404, 410}
_LONGEST_URL = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Fetched content: `url` is its final address after redirects, `digest` its SHA-256 in hex."""

    url: str
    content: bytes
    digest: str


class Fetcher:
    """Fetches from http and https.

    A host is looked up once for each connection, also after a redirect; all its addresses are judged, and the
    connection goes to one of them. `allow_hosts` are hosts (`name` or `name:port`) that may be private. `most_bytes`
    bounds the content, `seconds` one fetch. `cache` is a folder that keeps content between processes, revalidated
    unless the server gave a max-age; without one, content is kept as long as the Fetcher.
    """

    def __init__(
        self,
        *,
        allow_hosts: Collection[str] = (),
        most_bytes: int = 1_000_000,
        seconds: float = 20.0,
        redirects: int = 5,
        cache: Path | None = None,
        resolve: Resolve | None = None,
        connect: Connect | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._allow_hosts = allow_hosts
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._redirects = redirects
        self._cache = Cache(cache)
        self._resolve = resolve
        self._connect = connect
        self._ssl_context = ssl_context
        self._accept = "application/json"

    def bounded(self, most_bytes: int, accept: str) -> Fetcher:
        """The same fetcher for content of another type and size."""
        fetcher = copy(self)
        fetcher._most_bytes, fetcher._accept = most_bytes, accept
        return fetcher

    async def fetch(self, url: str) -> Fetched:
        """Fetch one URL.

        Raises:
            DelegateForbidden: the URL or a redirect leads where it may not; the content is too large.
            DelegateNotFound: there is nothing at that address.
            DelegateError: it can't be fetched, or `httpx2` isn't installed.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(_parse(url))
        except TimeoutError:
            raise DelegateError(f"{shown_url(url)}: took longer than {self._seconds:g} seconds") from None

    async def _follow(self, url: URL) -> Fetched:
        for _ in range(self._redirects + 1):
            target = await self._hop(url)
            if isinstance(target, Fetched):
                return target
            if url.scheme == "https" and target.scheme == "http":
                raise DelegateForbidden(f"{shown_url(url)} redirects from https to http")
            url = target
        raise DelegateForbidden(f"{shown_url(url)}: redirected more than {self._redirects} times")

    async def _hop(self, url: URL) -> Fetched | URL:
        """The content of one address, or the address that it redirects to."""
        network = Network(shown_url(url), self._allow_hosts, resolve=self._resolve, connect=self._connect)
        cached = await asyncio.to_thread(self._cache.find, str(url))
        if cached is not None and cached.is_fresh:
            await network.addresses(url.raw_host.decode("ascii"), _port(url))
            return _fetched(url, cached.content)
        async with self._response(url, network, cached) as response:
            headers = _headers(response)
            if response.status in _REDIRECTS and "location" in headers:
                return _parse(joined_url(str(url), headers["location"]))
            if response.status == 304 and cached is not None:
                await asyncio.to_thread(self._cache.keep, str(url), cached.content, headers)
                return _fetched(url, cached.content)
            if response.status in _GONE:
                raise DelegateNotFound(f"there is nothing at {shown_url(url)} ({response.status})")
            if response.status != 200:
                raise DelegateError(f"{shown_url(url)} answers with {response.status}")
            content = await self._content(url, response, headers)
        await asyncio.to_thread(self._cache.keep, str(url), content, headers)
        return _fetched(url, content)

    @asynccontextmanager
    async def _response(self, url: URL, network: Network, cached: Cached | None) -> AsyncGenerator[Response]:
        import httpcore2

        headers = {"host": url.netloc.decode("ascii"), "accept": self._accept, "accept-encoding": "identity"}
        headers |= {"user-agent": "actum"} | (cached.conditions if cached is not None else {})
        backend: Any = network
        try:
            async with (
                httpcore2.AsyncConnectionPool(ssl_context=self._ssl_context, network_backend=backend) as pool,
                pool.stream("GET", str(url), headers=list(headers.items())) as response,
            ):
                yield response
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise DelegateError(f"{shown_url(url)} can't be fetched: {why}") from error

    async def _content(self, url: URL, response: Response, headers: dict[str, str]) -> bytes:
        if headers.get("content-encoding", "identity") != "identity":
            raise DelegateForbidden(f"{shown_url(url)} sent compressed content, which wasn't asked for")
        content = bytearray()
        announced = headers.get("content-length", "0")
        is_large = not announced.isdigit() or len(announced) > 18 or int(announced) > self._most_bytes
        chunks = aiter(response.aiter_stream())
        while not is_large and (chunk := await anext(chunks, None)) is not None:
            content += chunk
            is_large = len(content) > self._most_bytes
        if is_large:
            raise DelegateForbidden(f"{shown_url(url)} is larger than {self._most_bytes} bytes")
        return bytes(content)


def shown_url(url: object) -> str:
    """A URL as errors show it."""
    return repr(redacted(str(url)))


def joined_url(base: str, reference: str) -> str:
    """The URL of a reference relative to a base.

    Raises:
        DelegateForbidden: it isn't a URL.
    """
    try:
        return urljoin(base, reference)
    except ValueError:
        raise DelegateForbidden(f"{shown_url(reference)} is not a URL") from None


def _parse(url: str) -> URL:
    try:
        import httpx2
    except ImportError:
        raise DelegateError(f"fetching needs httpx2: {pip_install('http')}") from None
    if len(url) > _LONGEST_URL or "\\" in url or any(ord(char) <= 0x20 or ord(char) == 0x7F for char in url):
        raise DelegateForbidden(f"{shown_url(url)} is not a URL")
    try:
        parsed = httpx2.URL(url).copy_with(fragment=None)
        has_credentials = "@" in urlsplit(url).netloc
        port = _port(parsed)
    except (httpx2.InvalidURL, ValueError, TypeError):
        raise DelegateForbidden(f"{shown_url(url)} is not a URL") from None
    if parsed.scheme not in {"http", "https"}:
        raise DelegateForbidden(f"{shown_url(url)}: only http and https are fetched")
    if has_credentials or parsed.userinfo:
        raise DelegateForbidden(f"{shown_url(url)}: a URL with credentials isn't fetched")
    if not parsed.raw_host or b"%" in parsed.raw_host or not 0 < port < 65_536:
        raise DelegateForbidden(f"{shown_url(url)} names no host")
    return parsed


def _port(url: URL) -> int:
    return url.port if url.port is not None else 443 if url.scheme == "https" else 80


def _headers(response: Response) -> dict[str, str]:
    pairs: Iterable[tuple[bytes, bytes]] = response.headers
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}


def _fetched(url: URL, content: bytes) -> Fetched:
    return Fetched(url=str(url), content=content, digest=_digest(content))
