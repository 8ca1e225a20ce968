"""What callers give: a context and a model in many forms, an input."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Collection, Coroutine, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import Any, TypeAlias, TypeVar, cast, overload

from ..errors import MessageError, ModelError
from ..generation.model import Model
from ..messages import MessageObject, is_message
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS, OF, instance_of, kind_of
from ..schema.validator import Validator

Given: TypeAlias = "Context | str | Iterable[Mapping[str, Any] | MessageObject | str]"
"""A context as it is given: messages as dicts or objects, texts of the user among them, or one text."""


T = TypeVar("T")


def as_context(given: Given, kinds: Collection[str] = (), data_kinds: Collection[str] = DATA_KINDS) -> Context:
    """The context that was given, judged.

    Raises:
        MessageError: for a malformed message, naming its index.
    """
    if isinstance(given, Context):
        return given
    return Context(messages_of(given), kinds=kinds, data_kinds=data_kinds)


def messages_of(given: Any) -> Any:
    """Messages as dicts and texts, not judged yet; `Context` judges what is no list of them, too."""
    if hasattr(given, "as_tool"):
        raise MessageError("an Idea is run by `idea.run(agent)`, and gone on with by `agent.resume(idea)`")
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        return cast("Any", given)
    return list(map(_plain, cast("Iterable[Any]", given)))


def _plain(message: Any) -> Any:
    """A message as a dict; what is none is judged with the others, by its index."""
    return message.to_dict() if is_message(message) else message


def with_input(context: Context, input: Mapping[str, Any] | None) -> Context:
    """A context with an input, judged by its schema.

    Raises:
        MessageError: it doesn't fit.
    """
    if input is not None and not isinstance(input, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
        raise MessageError(f"the input is an object, a dict of values by name, not {input!r}")
    if input is None or not (input or any(kind_of(message) == "input" for message in context)):
        return context  # nothing was given, and nothing asks for it
    extended = context.extended([{"type": "input", "input": dict(input)}])
    _check_input(extended)
    return extended


def check_begins(context: Context) -> None:
    """Refuse a run that begins without what its input has to have; of instances each has its own.

    Raises:
        MessageError: what is there doesn't fit.
    """
    if not any("_call" in message or OF in message or instance_of(message) is not None for message in context):
        _check_input(context)


def _check_input(context: Context) -> None:
    value = context.data.get("input", {})
    for index, message in enumerate(context):
        if kind_of(message) == "input" and "schema" in message:
            complaint = Validator(message["schema"], at="schema").complaint(value)
            if complaint is not None:
                raise MessageError(f"the input doesn't fit its schema: {complaint}", index=index)


@overload
def as_model(model: Model | str) -> Model: ...
@overload
def as_model(model: Model | str | None) -> Model | None: ...
def as_model(model: Model | str | None) -> Model | None:
    """The model that was given, by name or as an object.

    Raises:
        ModelError: it is none.
    """
    if not isinstance(model, str):
        if isinstance(model, type):
            raise ModelError(f"{model.__name__} is a class: give a model that is made of it, {model.__name__}(…)")
        if model is not None and not (hasattr(model, "name") and hasattr(model, "stream")):
            raise ModelError(
                f"a {type(model).__name__} can't be a model: a model has a `name` and a method `stream`, or is a text"
            )
        return model
    from ..models import load

    return load(model)


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end: outside an event loop, or beside the one that is running, as in a notebook.

    It sees the context variables of its caller, and Ctrl-C cancels it; what it has begun is awaited before that shows.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    return run_beside(coroutine)


_TO_BEGIN = 5.0
"""How many seconds a thread may take to begin, after which it counts as one that could not be started."""


class _Beside:
    """One coroutine on its thread. `cancel` may be called from any other, at any time, and more than once."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.done: Future[Any] = Future()
        self._coroutine = coroutine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_cancelled = False

    def run(self) -> None:
        """Run it, on the thread that this is called on."""
        try:
            result = asyncio.run(self._whole())
        except BaseException as error:  # for whoever waits for it
            self.done.set_exception(error)
        else:
            self.done.set_result(result)

    async def _whole(self) -> Any:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._is_cancelled:  # before there was a task to cancel
            self._coroutine.close()
            raise asyncio.CancelledError
        return await self._coroutine

    def cancel(self) -> None:
        """Cancel it, if it has not ended."""
        self._is_cancelled = True
        if self._loop is not None and self._task is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)


def run_beside(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a thread, with the context variables of its caller, which waits for it.

    Raises:
        KeyboardInterrupt: the caller was interrupted; the coroutine was cancelled, and what it had begun has ended.
    """
    beside = _Beside(coroutine)
    thread = Thread(target=contextvars.copy_context().run, args=(beside.run,), name="actum", daemon=True)
    try:
        thread.start()
        return beside.done.result()
    except BaseException:
        if not beside.done.done():  # it is the caller that was interrupted, perhaps while the thread began
            beside.cancel()
            wait([beside.done], None if thread.is_alive() else _TO_BEGIN)
        raise
