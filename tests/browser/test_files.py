"""The tree of files and the page of one: by keyboard, within the window, without scripts."""

from __future__ import annotations

import pytest
from django.urls import reverse

from memories.store import write
from memories.store.drafts import Draft, FileRef
from tests.browser.people import HOSTILE, signed_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
LONG = f"src/{HOSTILE[:900]}.py"


@pytest.fixture
def linked_file(project, alice, alices):
    for number in range(15):
        paths = ["src/tides/feed.py", f"src/tides/berth_{number % 5}.py"]
        paths += [LONG] if number == 3 else []
        draft = Draft(
            content=f"Offset {number} of the tide feed {'א' * 400}",
            memory_type="discovery",
            tags=("tides", f"t{number}"),
            files=tuple(FileRef(path, "modified") for path in paths),
        )
        write.store(project, draft, alice)


def test_the_keyboard_leads_through_the_tree_to_a_file(linked_file, open_page):
    page = signed_in(open_page(390, "dark"))
    page.open(reverse("console:files"))

    for name in ("src/", "tides/"):
        page.page.locator(".fi-name", has_text=name).last.press("Enter")
        page.page.wait_for_load_state("networkidle")
        assert page.width_beyond_the_window() <= 0
    page.page.locator(".fi-path", has_text="feed.py").press("Enter")
    page.page.wait_for_selector("h2:has-text('Related files')")
    assert page.width_beyond_the_window() <= 0
    page.page.locator("a", has_text="berth_").first.press("Enter")
    page.page.wait_for_selector("h2:has-text('berth_')")

    assert page.complaints == []
    assert page.strangers == []
