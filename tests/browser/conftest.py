"""A real Chromium against a real server: skipped by name where there is no Chromium."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.admin.conftest import a_memory, an_entry, world  # noqa: F401 -- fixtures
from tests.browser.hostile_world import (  # noqa: F401
    deltas,
    hostile_rows,
    watched_page,
)
from tests.browser.page_faults import DRAWN
from tests.browser.people import alices, sign_in  # noqa: F401
from tests.browser.review import waiting_deltas  # noqa: F401
from tests.playbook.conftest import learned, write  # noqa: F401

USUAL = "/usr/bin/chromium"
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium():
    """The program that CHROMIUM names, or the usual one; an empty name skips."""
    return os.environ.get("CHROMIUM", USUAL if Path(USUAL).exists() else "")


def pytest_collection_modifyitems(items):
    if chromium():
        return
    skip = pytest.mark.skip(reason="no Chromium: install it, or name it in CHROMIUM")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(skip)


@pytest.fixture(scope="module")
def _async_allowed():
    """Playwright's loop runs in this thread, where Django would refuse to query."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield


@pytest.fixture(scope="module")
def browser(_async_allowed):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = playwright.chromium.launch(
            executable_path=chromium(), args=list(OPTIONS)
        )
        yield program
        program.close()


class Watched:
    """A page with its errors and its requests to other hosts."""

    def __init__(self, page, server, *, has_scripts):
        self.page = page
        self.has_scripts = has_scripts
        self.server = server
        self.complaints = []
        self.strangers = []
        self.pending = set()
        page.on("console", self.note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self.look)
        page.on("requestfinished", self.forget)
        page.on("requestfailed", self.forget)
        page.on("response", self.judge)

    def note(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} {message.location['url']}")

    def look(self, request):
        self.pending.add(request)
        if not request.url.startswith((self.server, "data:", "about:", "blob:")):
            self.strangers.append(request.url)

    def forget(self, request):
        self.pending.discard(request)

    def judge(self, response):
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def open(self, path):
        self.page.goto(self.server + path)
        self.settle()

    def settle(self):
        """Wait until the page is loaded and drawn, and what it asked for is there.

        "networkidle" would wait for half a second in which nothing happens.
        """
        self.page.wait_for_load_state()
        self.draw()
        while self.pending:
            self.draw()

    def draw(self):
        """Let the page draw two frames; without scripts, it can name no frames."""
        if self.has_scripts:
            self.page.evaluate(DRAWN)
        else:
            self.page.wait_for_timeout(20)

    def width_beyond_the_window(self):
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def open_page(browser, live_server):
    """Make a watched page: `open_page(width=390, scheme="dark")`."""

    contexts = []

    def make(width=1280, scheme="light", scripts=True, zone="UTC", height=900):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            java_script_enabled=scripts,
            timezone_id=zone,
        )
        context.set_default_timeout(20_000)
        contexts.append(context)
        return Watched(context.new_page(), live_server.url, has_scripts=scripts)

    yield make
    for context in contexts:
        context.close()
