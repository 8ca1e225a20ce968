"""The forms in which callers give a context, a model and an input, made one."""

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
from ..protocol.activity import Ctx, error_text, is_async
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS, OF, kind_of
from ..schema.json import JsonObject, encodable
from ..schema.validator import Validator

Given: TypeAlias = "Context | str | Iterable[Mapping[str, Any] | MessageObject | str]"
"""A context as callers give it: messages as dicts or objects, with texts of the user among them, or one text."""


T = TypeVar("T")


def as_context(given: Given, kinds: Collection[str] = (), data_kinds: Collection[str] = DATA_KINDS) -> Context:
    """The context that was given, checked.

    Raises:
        MessageError: for a malformed message, naming its index.
    """
    if isinstance(given, Context):
        return given
    return Context(messages_of(given), kinds=kinds, data_kinds=data_kinds)


def messages_of(given: Any) -> Any:
    """Messages as dicts and texts, not checked yet; `Context` also checks that they are a list."""
    if hasattr(given, "as_tool"):
        raise MessageError("an Idea is run by `idea.run(agent)`, and gone on with by `agent.resume(idea)`")
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        return cast("Any", given)
    messages = cast("Iterable[Any]", given)  # what is no message is refused by its index
    return [message.to_dict() if is_message(message) else message for message in messages]


def with_input(context: Context, input: Mapping[str, Any] | None) -> Context:
    """A context with an input, checked by its schema.

    Raises:
        MessageError: it doesn't fit.
    """
    if input is not None and not isinstance(input, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
        raise MessageError(f"the input is an object, a dict of values by name, not {input!r}")
    if input is None or not (input or any(kind_of(message) == "input" for message in context)):
        return context  # there is no input, and none is expected
    extended = context.extended([{"type": "input", "input": dict(input)}])
    _check_input(extended)
    return extended


def check_initial_input(context: Context) -> None:
    """Check that a run begins with the input that its schema asks for; instances have their own.

    Raises:
        MessageError: the input doesn't fit.
    """
    has_schema = False
    for message in context:  # every run begins here: this stays fast
        if "_call" in message or OF in message or message.get("_instance") is not None:
            return
        has_schema = has_schema or "schema" in message
    if has_schema:
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
        ModelError: it isn't a model.
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

    It has the context variables of its caller. Ctrl-C cancels it and waits for what it has begun.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run = asyncio.run  # called outside this block, so that its errors are not chained to this one
    else:
        run = run_beside
    try:
        return run(coroutine)
    except ActumError as error:
        shorten(error)
        raise


_INNER = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (errors, asyncio, futures))
"""Folders whose frames tell a caller nothing."""


def shorten(error: BaseException) -> None:
    """End a traceback at the call of Actum, unless it leads through other code: the message says what is wrong.

    `python -X dev` keeps it whole.
    """
    files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, ActumError) and not sys.flags.dev_mode and all(file.startswith(_INNER) for file in files):
        error.__traceback__ = None


_START_SECONDS = 5.0
"""A thread that has not begun after this time counts as one that could not be started."""


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
        except BaseException as error:  # the caller raises it
            done.set_exception(error)

    thread = Thread(target=run, name="actum", daemon=True)
    try:
        thread.start()
        return done.result()
    except BaseException:
        if not done.done():  # the caller was interrupted, perhaps while the thread was starting
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(task.cancel)
            wait([done], None if thread.is_alive() else _START_SECONDS)
        raise


async def _result_of(task: asyncio.Task[T]) -> T:
    return await task


_BY = "_instructions"
"""Marks a system message with the name of the function that said it; the next run replaces the message."""


def check_instructions(function: Callable[..., Any]) -> None:
    """Check that a function can say instructions: it takes a `Ctx` or nothing.

    Raises:
        SchemaError: it isn't a function, or takes more.
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise SchemaError(f"instructions are said by a function, @agent.instructions, not {function!r}")
    parameters = inspect.signature(function).parameters.values()
    required = sum(parameter.default is parameter.empty for parameter in parameters)
    if required > 1:
        raise SchemaError(f"the instructions {function.__name__!r} take a Ctx or nothing, not {required} parameters")


async def with_instructions(context: Context, functions: Sequence[Callable[..., Any]], deps: Any) -> Context:
    """A context with what functions say now, in place of what they said in earlier runs.

    Raises:
        SchemaError: a function failed, or returned something that isn't text.
    """
    names = [function.__name__ for function in functions]
    texts = [await _instruction_text(function, deps) for function in functions]
    new = {
        name: {"type": "system", "message": text, _BY: name} for name, text in zip(names, texts, strict=True) if text
    }
    messages: list[JsonObject] = []
    for message in context:
        name = message.get(_BY)
        if message.get("type") != "system" or name not in names:
            messages.append(message)
        elif name in new:
            messages.append(new.pop(name))
    at = next((index for index, message in enumerate(messages) if message.get("type") != "system"), len(messages))
    messages[at:at] = new.values()
    return context.with_messages(messages)


async def _instruction_text(function: Callable[..., Any], deps: Any) -> str:
    args = [Ctx(deps)] if inspect.signature(function).parameters else []
    try:
        text = await (function(*args) if is_async(function) else asyncio.to_thread(function, *args))
    except Exception as error:
        raise SchemaError(f"the instructions {function.__name__!r} failed: {error_text(error)}") from error
    if text is not None and not isinstance(text, str):
        raise SchemaError(f"the instructions {function.__name__!r} are a text or None, not {text!r}")
    return encodable(text or "")
