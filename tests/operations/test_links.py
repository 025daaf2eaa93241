"""What the manual refers to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

BASE = Path(settings.BASE_DIR)
PAGES = sorted([*BASE.glob("*.md"), *(BASE / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
OUTSIDE = ("http://", "https://", "mailto:")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page):
    found = (match["target"] for match in LINK.finditer(page.read_text()))
    return [target for target in found if not target.startswith(OUTSIDE)]


def anchors(page):
    """The anchors of a page's headings, as they are made from their words."""
    headings = HEADING.findall(page.read_text())
    return {
        re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(BASE)))
class TestLinks:
    def test_each_leads_to_something(self, page):
        paths = [target.partition("#")[0] for target in links(page)]

        missing = [path for path in paths if path and not (page.parent / path).exists()]

        assert not missing

    def test_each_anchor_is_a_heading(self, page):
        targets = [target.partition("#") for target in links(page) if "#" in target]

        missing = [
            f"{path}#{anchor}"
            for path, _, anchor in targets
            if anchor not in anchors(page.parent / path if path else page)
        ]

        assert not missing


def test_every_page_is_on_the_map():
    on_map = {
        (BASE / "docs" / target).resolve()
        for target in links(BASE / "docs" / "index.md")
    }
    pages = {page.resolve() for page in PAGES if page.name != "index.md"}

    lost = {page for page in pages if not on_map & {page, *page.parents}}

    assert not lost


def test_every_picture_is_shown_somewhere():
    shown = {
        (page.parent / target).resolve() for page in PAGES for target in links(page)
    }
    pictures = {path.resolve() for path in (BASE / "docs" / "images").glob("*.*")}

    assert not pictures - shown
