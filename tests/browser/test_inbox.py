"""The inbox by keyboard, by two people at once, and without scripts."""

from __future__ import annotations

import pytest

from playbook.models import PlaybookDelta, PlaybookEntry
from tests.browser.review import OTHER, as_addition, rules, wait_for_text
from tests.playbook.conftest import reword

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("browser"),
]


def test_it_triages_by_keyboard(waiting_deltas, write, sign_in, open_page):
    entry = write("When calling `edit_file`, pass `path` instead of `file`.")
    first, second, third, fourth = waiting_deltas(
        *rules(3), f"{entry.content} It also takes `encoding`."
    )
    as_addition(fourth)
    page = sign_in("bob", open_page())
    keys = page.page.keyboard

    keys.press("a")
    wait_for_text(page, "Accepted: add")
    keys.press("u")
    wait_for_text(page, "as it was before")
    keys.press("u")
    wait_for_text(page, "in force again")
    keys.press("e")
    page.page.wait_for_selector("textarea[name=content]:focus")
    page.page.fill("textarea:focus", OTHER)
    keys.press("a")  # a letter, in a field
    assert page.page.input_value("textarea:focus") == f"{OTHER}a"
    keys.press("Control+Enter")
    wait_for_text(page, "Accepted in your words")
    keys.press("r")
    page.page.wait_for_selector("input[name=reason_code]:focus")
    keys.press("3")
    wait_for_text(page, "Rejected: too vague")
    page.page.wait_for_selector(".is-open [data-near]")
    keys.press("m")
    page.page.wait_for_selector("[data-near]:focus")
    keys.press("Enter")
    wait_for_text(page, f"Merged into {entry.label}")

    page.page.wait_for_selector("#inbox-empty:visible")
    states = [
        PlaybookDelta.objects.get(pk=d.pk) for d in (first, second, third, fourth)
    ]
    assert [d.status for d in states] == ["accepted", "edited", "rejected", "accepted"]
    assert states[2].payload["reason_code"] == "too_vague"
    entry.refresh_from_db()
    assert "`encoding`" in entry.content
    assert page.complaints == []
    assert page.strangers == []


@pytest.mark.slow
def test_fifty_proposals_are_cleared_with_the_keyboard_alone(
    waiting_deltas, sign_in, open_page
):
    waiting_deltas(*rules(50))
    page = sign_in("bob", open_page())

    for number in range(50):
        page.page.keyboard.press("r" if number % 5 == 4 else "a")
        if number % 5 == 4:
            page.page.keyboard.press("3")

    # A person who types faster than the server answers loses no key.
    page.page.wait_for_selector("#inbox-empty:visible", timeout=120_000)
    assert PlaybookDelta.objects.filter(status="accepted").count() == 40
    assert PlaybookDelta.objects.filter(status="rejected").count() == 10
    assert page.complaints == []


@pytest.mark.slow
def test_it_accepts_the_selected_and_shows_its_keys(waiting_deltas, sign_in, open_page):
    waiting_deltas(*rules(4))
    PlaybookDelta.objects.update(risk="low")
    page = sign_in("bob", open_page())

    for key in ("?", "Escape", "x", "j", "x", "j", "k", "A"):
        page.page.keyboard.press(key)

    wait_for_text(page, "Accepted: 2.")
    assert PlaybookDelta.objects.filter(status="accepted").count() == 2
    page.page.keyboard.press("u")
    wait_for_text(page, "Undone: 2.")
    assert PlaybookDelta.objects.filter(status="reverted").count() == 2
    assert page.complaints == []


@pytest.mark.slow
def test_ctrl_enter_rejects_the_selected_from_the_field_of_the_reason(
    waiting_deltas, sign_in, open_page
):
    (first, second) = waiting_deltas(*rules(2))
    PlaybookDelta.objects.update(risk="low")
    page = sign_in("bob", open_page())
    keys = page.page.keyboard

    keys.press("x")
    page.page.click("summary:has-text('Reject selected')")
    page.page.select_option("select[name=reason_code]", "one_off")
    page.page.focus("select[name=reason_code]")
    keys.press("Control+Enter")

    wait_for_text(page, "Rejected: 1.")
    first.refresh_from_db()
    assert (first.status, first.review_note) == ("rejected", "one off")
    assert PlaybookDelta.objects.pending().get() == second
    assert page.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["pending", "quarantine"])
def test_enter_in_a_selected_box_decides_nothing(
    waiting_deltas, sign_in, open_page, tab
):
    waiting_deltas(*rules(2))
    risk = "quarantine" if tab == "quarantine" else "low"
    PlaybookDelta.objects.update(risk=risk)
    page = sign_in("bob", open_page())
    page.page.click(f"a[href*='tab={tab}']")
    page.page.check(".in-card [data-select] >> nth=0")

    page.page.press(".in-card [data-select] >> nth=0", "Enter")

    wait_for_text(page, "Say whether to accept or to reject them.")
    assert PlaybookDelta.objects.pending().count() == 2


@pytest.mark.slow
def test_the_words_of_one_whose_entry_changed_are_kept(
    waiting_deltas, write, alice, sign_in, open_page
):
    entry = write(author_kind="rule")
    (delta,) = waiting_deltas(
        f"{entry.content} Never pass `name`.",
        operation="update",
        entry=entry,
        expected_version=entry.version,
    )
    reword(entry, alice, f"{entry.content} Soon.")
    page = sign_in("bob", open_page())
    page.page.keyboard.press("e")
    page.page.fill("textarea[name=content]", OTHER)
    page.page.keyboard.press("Control+Enter")
    page.page.wait_for_selector(".in-refusal")
    assert page.page.input_value("textarea[name=content]") == OTHER
    delta.refresh_from_db()
    assert delta.status == "pending"

    page.page.focus("textarea[name=content]")
    page.page.keyboard.press("Control+Enter")

    wait_for_text(page, "Accepted in your words")


NOTED = """
const given = window.fetch;
window.fetch = async (url, ...more) => {
    const answer = await given(url, ...more);
    if (url.includes("/inbox/?")) window.saidBefore = document.getElementById("inbox-said").innerText;
    return answer;
};"""


@pytest.mark.slow
def test_a_decision_is_undone_before_it_is_said(waiting_deltas, sign_in, open_page):
    waiting_deltas(*rules(2))
    page = open_page()
    page.page.add_init_script(NOTED)
    sign_in("bob", page)
    page.page.keyboard.press("a")
    wait_for_text(page, "Accepted: add")

    page.page.keyboard.press("u")
    wait_for_text(page, "Undone: add")

    assert page.page.evaluate("window.saidBefore").startswith("Accepted")


UNREAD = """() => {
    Response.prototype.text = () => Promise.reject(new TypeError("cut off"));
}"""


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["before it is answered", "within the answer"])
def test_the_decision_is_reported_if_the_list_cannot_load(
    waiting_deltas, sign_in, open_page, cut
):
    (first, _) = waiting_deltas(*rules(2))
    page = sign_in("bob", open_page())
    page.page.keyboard.press("a")
    wait_for_text(page, "Accepted: add")
    if cut == "within the answer":
        page.page.evaluate(UNREAD)
    else:
        page.page.route("**/admin/inbox/?*", lambda route: route.abort())

    page.page.keyboard.press("u")

    wait_for_text(page, "Undone: add")
    wait_for_text(page, "reload the page")
    assert PlaybookDelta.objects.filter(pk=first.pk, status="reverted").exists()
    page.page.keyboard.press("a")
    wait_for_text(page, "Accepted: add")


@pytest.mark.slow
def test_the_second_person_learns_what_happened_and_loses_nothing(
    waiting_deltas, write, alice, sign_in, open_page
):
    entry = write(author_kind="rule")
    (decided,) = waiting_deltas(*rules(1))
    (stale,) = waiting_deltas(
        f"{entry.content} Never pass `name`.",
        operation="update",
        entry=entry,
        expected_version=entry.version,
    )
    PlaybookDelta.objects.filter(pk=decided.pk).update(risk="high")
    PlaybookDelta.objects.filter(pk=stale.pk).update(risk="low")
    bobs = sign_in("bob", open_page())
    alices = sign_in("alice", open_page())
    bobs.page.keyboard.press("e")
    bobs.page.wait_for_selector("textarea[name=content]:focus")
    bobs.page.fill("textarea:focus", OTHER)

    alices.page.keyboard.press("a")
    wait_for_text(alices, "Accepted")
    bobs.page.keyboard.press("Control+Enter")

    bobs.page.wait_for_selector(
        ".in-refusal:has-text('already accepted by user:alice')"
    )
    card = bobs.page.locator(f"#card-{decided.pk}")
    assert card.locator("textarea[name=content]").input_value() == OTHER
    reword(entry, alice, f"{entry.content} Soon.")
    bobs.page.click(f"#card-{stale.pk} h2")
    bobs.page.keyboard.press("e")
    bobs.page.fill(f"#card-{stale.pk} textarea[name=content]", OTHER)
    bobs.page.keyboard.press("Control+Enter")
    bobs.page.wait_for_selector(f"#card-{stale.pk} .in-refusal")
    field = bobs.page.locator(f"#card-{stale.pk} textarea[name=content]")
    assert field.input_value() == OTHER
    field.press("Control+Enter")
    wait_for_text(bobs, "Accepted in your words")
    entry.refresh_from_db()
    assert entry.content == OTHER


def test_everything_works_without_scripts(waiting_deltas, write, sign_in, open_page):
    entry = write("When calling `edit_file`, pass `path` instead of `file`.")
    as_addition(
        waiting_deltas(*rules(4), f"{entry.content} It also takes `encoding`.")[4]
    )
    page = sign_in("bob", open_page(scripts=False)).page

    page.click("button:has-text('Accept') >> nth=1")
    page.wait_for_selector("text=Accepted: add")
    page.click("button:has-text('Undo')")
    page.wait_for_selector("text=Undone: add")
    page.click("summary:has-text('Edit') >> nth=0")
    page.fill("textarea[name=content] >> nth=0", OTHER)
    page.click("button:has-text('Accept in these words') >> nth=0")
    page.wait_for_selector("text=Accepted in your words")
    page.click("article summary:has-text('Reject') >> nth=0")
    page.click("article button:has-text('Reject') >> nth=0")
    page.wait_for_selector("text=Rejected: wrong")
    page.click("a:has-text('Show its nearest entries') >> nth=-1")
    page.click("button:has-text('Merge into')")
    page.wait_for_selector(f"text=Merged into {entry.label}")
    page.check("input[data-select] >> nth=0")
    page.click("summary:has-text('Reject selected')")
    page.click("button:has-text('Reject them')")
    page.wait_for_selector("text=Rejected: 1.")

    assert PlaybookEntry.objects.current().count() == 2
    assert not PlaybookDelta.objects.pending().exists()
