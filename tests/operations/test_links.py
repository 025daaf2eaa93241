"""Everything that the manual refers to exists."""

from __future__ import annotations

import re
from pathlib import Path

from django.apps import apps
from django.conf import settings

BASE = Path(settings.BASE_DIR)
PAGES = sorted([*BASE.glob("*.md"), *(BASE / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
OUTSIDE = ("http://", "https://", "mailto:")
CITED = re.compile(r'docs/(\w+)\.md,\s+(?:# )?"([^"]+)"')
ELSEWHERE = re.compile(r"\b(?:design|issue) \d|\(0\d+[,)]|§", re.IGNORECASE)
# Python files, and folders: names with a slash in or after them.
CODE_PATH = re.compile(r"`([a-z_]+(?:/[a-z_]*)+(?:\.\w+)?|[a-z_]+\.py)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page):
    found = (match["target"] for match in LINK.finditer(page.read_text()))
    return [target for target in found if not target.startswith(OUTSIDE)]


def anchors(page):
    """Return the anchors of a page's headings, as GitHub builds them."""
    headings = HEADING.findall(page.read_text())
    return {
        re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings
    }


def leads_somewhere(page, path, anchor):
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def sources():
    for config in apps.get_app_configs():
        if Path(config.path).parent == BASE:
            yield from Path(config.path).rglob("*.py")


class TestLinks:
    def test_each_leads_to_a_file_and_a_heading(self):
        missing = [
            f"{page.relative_to(BASE)}: {target}"
            for page in PAGES
            for target in links(page)
            if not leads_somewhere(page, *target.partition("#")[::2])
        ]

        assert not missing


class TestSources:
    def test_each_section_that_one_cites_is_there(self):
        missing = [
            f"{path.relative_to(BASE)}: {page}, {section}"
            for path in sources()
            for page, section in CITED.findall(path.read_text())
            if not any(
                heading.startswith(" ".join(section.replace("#", "").split()))
                for heading in HEADING.findall((BASE / f"docs/{page}.md").read_text())
            )
        ]

        assert not missing

    def test_none_cites_a_document_that_is_not_here(self):
        citing = [
            f"{path.relative_to(BASE)}: {match[0]}"
            for path in sources()
            for match in ELSEWHERE.finditer(path.read_text())
        ]

        assert not citing


class TestPathsOfTheCode:
    """These two pages lead through the folders, so what they name must be there."""

    def test_each_folder_and_file_that_one_names_is_there(self):
        pages = ["CONTRIBUTING.md", "docs/finished-task.md"]
        names = {
            name
            for page in pages
            for name in CODE_PATH.findall((BASE / page).read_text())
        }

        missing = [
            name
            for name in names
            if not (BASE / name).exists() and not is_inside_an_app(name.strip("/"))
        ]

        assert names
        assert not missing


def is_inside_an_app(name):
    """Whether an app has a file or folder of this name, as a page may shorten a path."""
    folders = (Path(config.path) for config in apps.get_app_configs())
    return any(
        found
        for folder in folders
        if folder.parent == BASE
        for found in folder.rglob(name)
    )


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
