"""An eval in a process of its own, which is killed when it opens its N-th file: FOLDER SAVE N, 0 for never."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from actum import models
from actum.evals import Eval
from actum.evals.report_text import report_lines
from actum.generation.model import ModelRequest

from .desk import PLAN


def main(folder: Path, save: Path, killed_at: int) -> None:
    """Run the eval; each request that is really made is a line of `asked.txt`."""
    opened = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal opened
        if event == "open" and str(arguments[0]).startswith(str(save)):
            opened += 1
            if opened == killed_at:
                os._exit(9)

    def answer(request: ModelRequest) -> Any:
        with open(folder / "asked.txt", "a", encoding="utf-8") as file:
            file.write("x\n")
        is_ana = any("ana@" in message["content"] for message in request.messages)
        return PLAN if is_ana else {**PLAN, "output": {"note": "?", "mean": 1}}

    os.chdir(folder)
    model = models.Scripted([answer], name="m", repeat_last=True)
    suite = Eval("desk.json", cases=["runs/*.json"], checks=["†output.mean == 21.5"], expect="recorded", parallel=1)
    sys.addaudithook(watch)
    report = suite.run_sync(models=[model], versions=["desk.json", "next.json"], repeat=7, save=save)
    rows = [json.dumps(row.to_dict(), sort_keys=True) for row in report.rows]
    print(json.dumps({"report": [*rows, *report_lines(report)], "opened": opened}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
