"""A real browser for the tests, one for all of them: Debian's Chromium, which reaches nothing but loopback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parent / "npm" / "node_modules" / "axe-core" / "axe.min.js"
IS_REQUIRED = os.environ.get("ACTUM_TEST_BROWSER") == "required"
browser_tests = pytest.mark.skipif(CHROMIUM is None and not IS_REQUIRED, reason="there is no Chromium here")
axe_tests = pytest.mark.skipif(
    not AXE.is_file() and not IS_REQUIRED, reason="axe-core is not installed: make studio-parts"
)
_ARGUMENTS = [
    "--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]  # fmt: skip
_SECONDS = 20


@contextmanager
def launched() -> Generator[Browser]:
    """The browser."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None, "Chromium is missing"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, **more: Any) -> Generator[Page]:
    """A page in a window of its own; what it complains of, or a dialog that it opens, fails the test."""
    context = browser.new_context(**more)
    context.set_default_timeout(_SECONDS * 1000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss())[1])
    page.goto(url)
    yield page
    context.close()
    assert [
        complaint for complaint in complaints if "ERR_" not in complaint and "Failed to load resource" not in complaint
    ] == []


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong with a page as it is now."""
    script = AXE.read_text(encoding="utf-8")
    report: Any = page.evaluate(f"async () => {{ {script}; return await axe.run({{resultTypes: ['violations']}}); }}")
    return [
        f"{violation['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for violation in report["violations"]
        for node in violation["nodes"]
    ]
