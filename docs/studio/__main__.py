"""`python docs/studio`: take the pictures of docs/studio.md anew, each page in the light and in the dark."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from scenes import TOKEN, Scene

HERE = Path(__file__).parent.resolve()
WIDTH, HEIGHT = 1000, 760
PAGES = {
    "live": "runs/triage-4",
    "home": "",
    "idea": "ideas/corpus/corpus.json",
    "run": "runs/stylometry",
    "waiting": "runs/triage-3",
    "call": "runs/stylometry/calls/0.7",
    "request": "runs/triage-1/requests/2",
    "edit": "runs/triage-3/edit/0.4.0",
    "fork": "runs/triage-1/fork/2",
    "compare": "compare?left=triage-1&right=triage-2",
}
"""The pages by the names of their pictures; first the one on which time goes on."""
STARTS = {"run": "#timeline", "live": "#timeline", "compare": "main"}
"""Where a picture begins, if not at the top of its page."""


def take(page: Page, base: str, scheme: str) -> None:
    """Take the pictures of all pages."""
    for name, path in PAGES.items():
        page.goto(base + path)
        page.locator(STARTS.get(name, "body")).first.evaluate("(one) => one.scrollIntoView()")
        page.screenshot(path=HERE / f"{name}-{scheme}.png")


def main() -> None:
    """Take all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("the pictures of the Studio need Chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.chdir(folder)  # examples leave files
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with Scene(Path(folder)) as scene:
            for scheme in ("light", "dark"):
                window = {"width": WIDTH, "height": HEIGHT}
                page = browser.new_page(color_scheme=scheme, viewport=window)  # pyright: ignore[reportArgumentType] -- two ints
                page.goto(f"{scene.base}?token={TOKEN}")
                take(page, scene.base, scheme)
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
