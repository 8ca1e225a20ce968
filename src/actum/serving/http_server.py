"""The server itself: uvicorn on one socket, with bounds on slow heads of requests, and a stop that lets runs end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Generator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import RunError
from ..runs.racing import beside
from .desk import Desk
from .guard import Guard

_HEAD_SECONDS = 10.0
"""How long a connection may be idle: before the head of a request has arrived, and after its answer."""
_CONNECTIONS = 1_000
_PER_ADDRESS = 250


class _Patient(H11Protocol):
    """Closes idle connections: those that are idle for too long, and the oldest if there are too many.

    A connection is idle, too, whose request is answered while its body still arrives.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        return not self.cycle or self.cycle.response_complete  # there is no cycle before the first request

    def _watch(self) -> None:
        """Run the timer exactly while the connection is idle."""
        if not self._is_idle:
            self._forget()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(_HEAD_SECONDS, self._close_if_idle)

    def _make_room(self) -> None:
        """Close the connection that is idle longest if there are too many in all, or from this one's address."""
        every = [peer for peer in self.connections if isinstance(peer, _Patient) and not peer.transport.is_closing()]
        same_address = [peer for peer in every if peer.client and self.client and peer.client[0] == self.client[0]]
        crowd = same_address if len(same_address) > _PER_ADDRESS else every if len(every) > _CONNECTIONS else []
        idle = [(peer._timer.when(), peer) for peer in crowd if peer._timer is not None and peer is not self]
        if crowd:
            min(idle, default=(0.0, self), key=lambda stood: stood[0])[1].transport.close()

    def _close_if_idle(self) -> None:
        self._timer = None
        if self._is_idle and not self.transport.is_closing():
            self.transport.close()

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpServer(uvicorn.Server):
    """A server that leaves signals to its caller; `begun` is set once it listens."""

    def __init__(self, app: Guard) -> None:
        config = uvicorn.Config(
            app,
            http=_Patient,
            ws="none",
            log_config=None,
            access_log=False,  # URLs may hold a token
            server_header=False,
            timeout_graceful_shutdown=5,
            lifespan="on",
        )
        super().__init__(config)
        self.begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self.begun.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; wait for the end of the app's lifespan even if forced, which uvicorn doesn't do."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the caller."""
        yield


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 takes a free one.

    Raises:
        RunError: it can't be used.
    """
    # If the protocol is named, asyncio disables Nagle's algorithm for its connections: else the end of an answer waits
    # for the client's delayed acknowledgement, 40 ms for each.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise RunError(
            f"the server can't listen at {host}:{port}: {getattr(error, 'strerror', None) or error}"
        ) from None
    return listener


async def listen(
    app: Guard, desk: Desk, listener: socket.socket, *, started: Callable[[], None], stopping: Callable[[], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C; then let runs and streams end, and stop. A second signal stops at once.

    Raises:
        RunError: the worker has failed.
    """
    server = HttpServer(app)
    stop = asyncio.Event()
    with _signals(stop, server, desk, stopping):
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        ending = asyncio.create_task(stop.wait())
        try:
            async with beside(server.begun.wait()) as [begun]:
                await asyncio.wait([begun, serving], return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                started()
            await asyncio.wait([serving, ending, *desk.work], return_when=asyncio.FIRST_COMPLETED)
            await desk.stop()
        finally:
            ending.cancel()
            server.should_exit = True
            await asyncio.wait([serving])
    if desk.failure is not None:
        raise RunError(f"runs can't be carried out here any more: {desk.failure}")
    if (error := serving.exception()) is not None:
        raise error


@contextlib.contextmanager
def _signals(stop: asyncio.Event, server: HttpServer, desk: Desk, stopping: Callable[[], None]) -> Generator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def stop_or_force() -> None:
        if stop.is_set():
            server.force_exit = True
            desk.let_go()
            return
        stopping()
        stop.set()

    with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows; a thread: its owner cancels it
        for number in numbers:
            loop.add_signal_handler(number, stop_or_force)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError, RuntimeError):
            for number in numbers:
                loop.remove_signal_handler(number)
