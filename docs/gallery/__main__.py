"""`python docs/gallery`: draw the pictures of the gallery anew, `examples/NAME/run.svg`."""

from __future__ import annotations

import asyncio

from gallery_runs import EXAMPLES, RUNS, picture


def main() -> None:
    """Write every picture."""
    for name in RUNS:
        (EXAMPLES / name / "run.svg").write_text(asyncio.run(picture(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
