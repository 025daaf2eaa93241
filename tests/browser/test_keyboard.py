"""With Tab, Enter and letters alone, at 200 % zoom: no shortcut, no mouse."""

from __future__ import annotations

import pytest
from django.urls import reverse

from playbook.models import PlaybookDelta
from tests.browser.page_faults import COVERED
from tests.browser.people import signed_in
from tests.browser.review import OTHER, as_addition, rules, wait_for_text

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]
# A window of 1280 x 900 at twice the size.
ZOOMED = {"width": 640, "height": 450}
MOST_TABS = 300
FOCUSED = (
    "() => {"
    + f"const isCovered = {COVERED};"
    + """
    const e = document.activeElement;
    return e === document.body ? null : {
        words: (e.innerText || e.name || "").trim(),
        kind: e.type || e.tagName.toLowerCase(),
        isSeen: e.matches(":focus-visible"),
        isCovered: isCovered(e),
        isOfCard: Boolean(e.closest(".in-card, .in-said")),
    };
}"""
)
# A control is marked when it takes the focus; those without a mark never do.
UNMARKED = """() => {
    const every = document.querySelectorAll("#content :is(a[href], button, input, select, textarea, summary)");
    return [...every].filter(e => !e.dataset.reached && e.type !== "hidden" && e.type !== "radio"
        && e.checkVisibility({ visibilityProperty: true })).map(e => e.outerHTML.slice(0, 120));
}"""


def tab_to(page, words, kind=None):
    """Press Tab until a control of a card that begins with the words has the focus."""
    for _ in range(MOST_TABS):
        page.page.keyboard.press("Tab")
        at = page.page.evaluate(FOCUSED)
        fits = at and at["isOfCard"] and at["words"].startswith(words)
        if fits and kind in (None, at["kind"]):
            assert at["isSeen"] and not at["isCovered"]
            return
    raise AssertionError(f"Tab does not lead to {words}")


def test_everything_in_the_inbox_is_done_without_shortcuts(
    waiting_deltas,
    write,
    sign_in,
    open_page,
):
    entry = write("When calling `edit_file`, pass `path` instead of `file`.")
    similar = f"{entry.content} It also takes `encoding`."
    proposals = waiting_deltas(similar, *rules(3))
    as_addition(proposals[0])
    page = sign_in("bob", open_page(**ZOOMED))
    keys = page.page.keyboard

    tab_to(page, "Merge", "summary")
    keys.press("Enter")
    tab_to(page, "label", "text")
    keys.type(entry.label)
    tab_to(page, "Merge", "submit")
    keys.press("Enter")
    wait_for_text(page, f"Merged into {entry.label}")
    tab_to(page, "Accept", "submit")
    keys.press("Enter")
    wait_for_text(page, "Accepted: add")
    tab_to(page, "Undo", "submit")
    keys.press("Enter")
    wait_for_text(page, "Undone: add")
    tab_to(page, "Undo", "submit")
    keys.press("Enter")
    wait_for_text(page, "in force again")
    tab_to(page, "Edit", "summary")
    keys.press("Enter")
    tab_to(page, "content", "textarea")
    keys.press("Control+a")
    keys.type(OTHER)
    tab_to(page, "Accept in these words", "submit")
    keys.press("Enter")
    wait_for_text(page, "Accepted in your words")
    tab_to(page, "Reject", "summary")
    keys.press("Enter")
    tab_to(page, "reason_code", "radio")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    tab_to(page, "Reject", "submit")
    keys.press("Enter")
    wait_for_text(page, "Rejected: too vague")
    ids = [proposal.pk for proposal in proposals]
    rows = PlaybookDelta.objects.filter(pk__in=ids).values_list("status", flat=True)
    assert sorted(rows) == ["accepted", "accepted", "edited", "rejected"]
    assert page.complaints == []


@pytest.mark.parametrize(
    "name",
    [
        "admin:index",
        "console:inbox",
        "console:search",
        "console:playbook",
        "console:files",
        "admin:memories_memory_changelist",
    ],
)
def test_tab_leads_through_a_page_and_out_of_it(alices, open_page, name):
    page = signed_in(open_page(**ZOOMED))
    page.open(reverse(name))

    for _ in range(MOST_TABS):
        page.page.keyboard.press("Tab")
        page.page.evaluate("document.activeElement.dataset.reached = 'yes'")
        at = page.page.evaluate(FOCUSED)
        if at is None:
            break
        assert not at["isCovered"], at["words"]

    assert at is None
    assert page.page.evaluate(UNMARKED) == []
