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


@pytest.fixture
def _async_allowed(monkeypatch):
    """Playwright's loop runs in this thread, where Django would refuse to query."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


@pytest.fixture
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

    def __init__(self, page, server):
        self.page = page
        self.server = server
        self.complaints = []
        self.strangers = []
        page.on("console", self.note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self.look)
        page.on("response", self.judge)

    def note(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} {message.location['url']}")

    def look(self, request):
        if not request.url.startswith((self.server, "data:", "about:", "blob:")):
            self.strangers.append(request.url)

    def judge(self, response):
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def open(self, path):
        self.page.goto(self.server + path)
        self.page.wait_for_load_state("networkidle")

    def width_beyond_the_window(self):
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def open_page(browser, live_server):
    """Make a watched page: `open_page(width=390, scheme="dark")`."""

    def make(width=1280, scheme="light", scripts=True, zone="UTC", height=900):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            java_script_enabled=scripts,
            timezone_id=zone,
        )
        context.set_default_timeout(20_000)
        return Watched(context.new_page(), live_server.url)

    return make
