"""What callers give: a context and a model in many forms, an input."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import sys
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Thread
from traceback import walk_tb
from typing import Any, TypeAlias, TypeVar, cast, overload

from .. import errors
from ..errors import ActumError, MessageError, ModelError, SchemaError
from ..generation.model import Model
from ..messages import MessageObject, is_message
from ..protocol.activity import Ctx, is_async, raised_words
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS, OF, kind_of
from ..schema.json import JsonObject, legible
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
    """Messages as dicts and texts, not judged yet; `Context` judges what isn't a list of them, too."""
    if hasattr(given, "as_tool"):
        raise MessageError("an Idea is run by `idea.run(agent)`, and gone on with by `agent.resume(idea)`")
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        return cast("Any", given)
    return list(map(_plain, cast("Iterable[Any]", given)))


def _plain(message: Any) -> Any:
    """A message as a dict; anything else is judged with the others, by its index."""
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
    is_judged = False
    for message in context:  # without a detour: every run begins here
        if "_call" in message or OF in message or message.get("_instance") is not None:
            return
        is_judged = is_judged or "schema" in message
    if is_judged:
        _check_input(context)


def _check_input(context: Context) -> None:
    for index, message in enumerate(context):
        if "schema" in message and kind_of(message) == "input":
            complaint = Validator(message["schema"], at="schema").complaint(context.data.get("input", {}))
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
    """Run a coroutine to its end: outside an event loop, or next to the one that is running, as in a notebook.

    It sees the context variables of its caller, and Ctrl-C cancels it; what it has begun is awaited before that shows.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run = asyncio.run  # outside this block: what it raises has nothing to do with this error
    else:
        run = run_beside
    try:
        return run(coroutine)
    except ActumError as error:
        shorten(error)
        raise


_INNER = tuple(f"{Path(str(one.__file__)).parent}{os.sep}" for one in (errors, asyncio, futures))
"""Where the frames lie that say nothing to a caller."""


def shorten(error: BaseException) -> None:
    """Let a traceback end at the call of Actum, unless it leads through code of others: the message says what is wrong.

    `python -X dev` keeps it whole.
    """
    frames = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, ActumError) and not sys.flags.dev_mode and all(one.startswith(_INNER) for one in frames):
        error.__traceback__ = None


_TO_BEGIN = 5.0
"""How many seconds a thread may take to begin, after which it counts as one that could not be started."""


def run_beside(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a thread, with the context variables of its caller, which waits for it.

    Raises:
        KeyboardInterrupt: the caller was interrupted; the coroutine was cancelled, and what it had begun has ended.
    """
    loop, done = asyncio.new_event_loop(), Future[T]()
    task = loop.create_task(coroutine, context=contextvars.copy_context())

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                done.set_result(runner.run(_result_of(task)))
        except BaseException as error:  # for whoever waits for it
            done.set_exception(error)

    thread = Thread(target=run, name="actum", daemon=True)
    try:
        thread.start()
        return done.result()
    except BaseException:
        if not done.done():  # it is the caller that was interrupted, perhaps while the thread began
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(task.cancel)
            wait([done], None if thread.is_alive() else _TO_BEGIN)
        raise


async def _result_of(task: asyncio.Task[T]) -> T:
    return await task


_BY = "_instructions"
"""The mark of a system message that such a function has said: its name. The next run puts what it says then there."""


def check_instructions(function: Callable[..., Any]) -> None:
    """Whether a function can say instructions: it takes a `Ctx`, or nothing.

    Raises:
        SchemaError: saying what it isn't.
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise SchemaError(f"instructions are said by a function, @agent.instructions, not {function!r}")
    wanted = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    if len(wanted) > 1:
        raise SchemaError(f"the instructions {function.__name__!r} take a Ctx or nothing, not {len(wanted)} parameters")


async def instructed(context: Context, functions: Sequence[Callable[..., Any]], deps: Any) -> Context:
    """A context with what functions say now; what they said in earlier runs gives way to it.

    Raises:
        SchemaError: one has failed, or has returned what isn't text.
    """
    said = [(one.__name__, await _said(one, deps)) for one in functions]
    new = {name: {"type": "system", "message": text, _BY: name} for name, text in said if text}
    messages: list[JsonObject] = []
    for message in context:
        name = message.get(_BY)
        is_earlier = message.get("type") == "system" and any(name == one.__name__ for one in functions)
        if not is_earlier:
            messages.append(message)
        elif name in new:
            messages.append(new.pop(name))
    at = next((n for n, one in enumerate(messages) if one.get("type") != "system"), len(messages))
    messages[at:at] = new.values()
    return Context.checked(messages, context.data_kinds, context.origin)


async def _said(function: Callable[..., Any], deps: Any) -> str:
    given = [Ctx(deps)] if inspect.signature(function).parameters else []
    try:
        text = await (function(*given) if is_async(function) else asyncio.to_thread(function, *given))
    except Exception as error:
        raise SchemaError(f"the instructions {function.__name__!r} failed: {raised_words(error)}") from error
    if text is not None and not isinstance(text, str):
        raise SchemaError(f"the instructions {function.__name__!r} are a text or None, not {text!r}")
    return legible(text or "")
