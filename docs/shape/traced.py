"""Which files of a package a run enters.

    python docs/shape/traced.py PACKAGE_PATH RUN_FILE

The run file defines `run(begin, end)`, which calls `begin()` where tracing is to start and `end()` where it is to stop.
A file counts when one of its functions is entered or resumed in between, also on a thread that starts there; module
bodies and generated code don't count. The files are printed one a line.
"""

from __future__ import annotations

import runpy
import sys
import threading
from pathlib import Path
from types import FrameType


def met(package: Path, run_file: Path) -> list[str]:
    """The files that a run enters, in the order in which they are first met, relative to the package."""
    root = package.resolve()
    entered: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.setdefault(frame.f_code.co_filename)

    def begin() -> None:
        threading.setprofile(note)
        sys.setprofile(note)

    def end() -> None:
        threading.setprofile(None)
        sys.setprofile(None)

    sys.path.insert(0, str(root.parent))
    try:
        runpy.run_path(str(run_file))["run"](begin, end)
    finally:
        end()
    return [str(Path(name).relative_to(root)) for name in entered if Path(name).is_relative_to(root)]


if __name__ == "__main__":
    print("\n".join(met(Path(sys.argv[1]), Path(sys.argv[2]))))
