"""`warm_launcher.py SOCKET SCRIPT …` stands for a process that `warm_server.py` forks, where others start a command."""

import json
import os
import signal
import socket
import sys


def main() -> int:
    path, script, *arguments = sys.argv[1:]
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = {
        "what": script,
        "name": script,
        "argv": [script, *arguments],
        "cwd": os.getcwd(),
        "env": dict(os.environ),
    }
    socket.send_fds(connection, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # else they would stay open when the process has ended
        os.dup2(nothing, stream)
    with connection.makefile("r") as reply:
        process = int(reply.readline())
        signal.signal(signal.SIGTERM, lambda number, _: os.kill(process, number))
        code = reply.readline()
    status = int(code) if code else 1
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
