"""Forks Python processes that begin with what most of them import: started by `warm.py`, it speaks its lines.

Each connection is one process: a line of JSON with the descriptors of its streams, and its exit status as the answer.
Who hangs up has it killed. A process begins as a fresh one would, but for what is imported already.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import types
from typing import Any

LONGEST = 1 << 20
"""The most bytes of a request: arguments and environment, one line."""


def serve(path: str, imported: list[str]) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    for name in imported:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what a process frees at its end it would have to copy first
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that watch
    os.write(1, b"ready\n")
    while True:
        ready, _, _ = select.select([listening, 0], [], [])
        if 0 in ready:
            return  # who has started this is gone
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            watched(connection)
        connection.close()


def watched(connection: socket.socket) -> None:
    """Start the process, and watch it until it ends or nobody waits for it any more."""
    with connection:
        text, streams, _, _ = socket.recv_fds(connection, LONGEST, 3)
        while not text.endswith(b"\n"):
            more = connection.recv(LONGEST)
            if not more:
                os._exit(0)
            text += more
        process = os.fork()
        if process == 0:
            connection.close()
            begin(json.loads(text), streams)
        for stream in streams:
            os.close(stream)
        for stream in range(3):
            os.close(stream)
        handle = os.pidfd_open(process)
        connection.sendall(f"{process}\n".encode())
        ready, _, _ = select.select([connection, handle], [], [])
        if handle not in ready:
            os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        if handle in ready:
            connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def begin(request: dict[str, Any], streams: list[int]) -> None:
    """Become the process that is asked for."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        if stream > 2:
            os.close(stream)
    reopen()
    # Who runs the tests in the background of a shell ignores it, and so does what this server was started by.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = request["argv"]
    code = 1
    try:
        run(request)
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        if not isinstance(ending.code, int | None):
            print(ending.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()  # type: ignore[attr-defined]  # pyright: ignore[reportPrivateUsage]
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def reopen() -> None:
    """Begin with streams of its own: what those of the server are known to be, such as a pipe, holds no more."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        was = getattr(sys, name)
        buffering = 1 if number == 2 or os.isatty(number) else -1
        mode = "w" if number else "r"
        stream = open(number, mode, buffering, was.encoding, was.errors, closefd=False)  # noqa: SIM115 -- as long as it
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(request: dict[str, Any]) -> None:
    what, name = request["what"], request["name"]
    more = [path for path in request["env"].get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
    sys.path[1:1] = more
    if any(os.path.exists(os.path.join(path, "sitecustomize.py")) for path in more):
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")
    if what == "-m":
        sys.path[0] = request["cwd"]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    elif what == "-c":
        sys.path[0] = ""
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(name, "<string>", "exec"), main.__dict__)
    else:
        sys.path[0] = os.path.dirname(name)
        runpy.run_path(name, run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
