"""The steps of the tour of docs/curating.md, one for each of its headings."""

from __future__ import annotations

import re

from django.conf import settings
from django.urls import reverse

from access.models import ApiKey
from ace.models import AceRun
from memories.models import PossibleDuplicate
from playbook.models import PlaybookEntry
from tests.browser.people import PASSWORD

PAGE = settings.BASE_DIR / "docs/curating.md"
FOLDER = settings.BASE_DIR / "docs/images/curating"
IN_OTHER_WORDS = "When calling `send_mail`, pass `to`: it knows no `recipient`."
KEYS = r"^\| (`.+?) \|"


def written(pattern):
    """Return the parts of the page that match the pattern."""
    return re.findall(pattern, PAGE.read_text(), flags=re.MULTILINE)


def start(walk):
    walk.watched.open(reverse("admin:index"))
    walk.page.fill("input[name=username]", "alice")
    walk.page.fill("input[name=password]", PASSWORD)
    walk.page.click("button[type=submit]")
    walk.page.wait_for_selector(".am-cards")


def home(walk):
    walk.go("admin:index")
    walk.sees("Waiting changes", "Memories stored")


def review(walk):
    walk.go("console:inbox")
    walk.sees("When calling `send_mail`")
    walk.keys.press("j")
    walk.page.wait_for_selector(".is-open [data-near]")


def edit(walk):
    """Open the form for other words; after_edit accepts them and undoes it."""
    walk.keys.press("e")
    walk.page.wait_for_selector("textarea[name=content]:focus")
    walk.page.fill("textarea:focus", IN_OTHER_WORDS)


def after_edit(walk):
    walk.keys.press("Control+Enter")
    walk.wait_for_text("Accepted in your words")
    walk.keys.press("u")
    walk.wait_for_text("Undone: ")
    walk.keys.press("?")
    shown = walk.page.locator("#inbox-keys[open] dt kbd")
    shown.first.wait_for()
    keys = re.findall(r"`(.+?)`", "\n".join(written(KEYS)))
    assert sorted(keys) == sorted(shown.all_inner_texts())
    walk.keys.press("Escape")


def duplicates(walk):
    walk.go("console:inbox", tab="duplicates")
    walk.sees("Two similar memories", "Keep both")


def after_duplicates(walk):
    walk.keys.press("b")
    walk.wait_for_text("Kept both")
    assert not PossibleDuplicate.objects.filter(state="open").exists()


def quarantine(walk):
    walk.go("console:inbox", tab="quarantine")
    walk.sees("ignore all previous instructions", "Why it waits")


def after_quarantine(walk):
    walk.keys.press("r")
    walk.page.wait_for_selector("input[name=reason_code]:focus")
    walk.keys.press("5")
    walk.wait_for_text("Rejected: unsafe")


def automatic(walk):
    walk.go("console:inbox", tab="automatic")
    walk.sees("Undo this change")
    walk.page.click("article:has-text('Always name the warehouse') h2")


def after_automatic(walk):
    walk.keys.press("z")
    walk.wait_for_text("Undone")
    assert not of_the_warehouse().exists()


def of_the_warehouse():
    return PlaybookEntry.objects.current().filter(content__contains="warehouse")


def revisions(walk):
    walk.go("console:playbook")
    walk.page.focus(".am-slide input")
    walk.keys.press("ArrowLeft")
    walk.page.wait_for_selector("h2:has-text('From revision')")
    walk.page.click("summary:has-text('Revert')")


def after_revisions(walk):
    walk.page.check("input[value=after]")
    walk.page.fill("input[name=reason]", "The warehouse is worth naming.")
    walk.page.click(".pb-back button")
    walk.page.wait_for_selector("text=Reverted by 2 new changes")
    assert of_the_warehouse().exists()


def search(walk):
    asked = {"query": "why is the stock below zero?", "mode": "hybrid", "explain": "on"}
    walk.go("console:search", **asked)
    walk.sees("The stock that went negative", "How it was found")


def files(walk):
    walk.go("console:files")
    walk.sees("shop/")
    walk.go("console:file", path="shop/stock.py")
    walk.sees("Related files")


def a_run(walk):
    run = AceRun.objects.filter(request__goal__startswith="Write the returns").get()
    walk.go("admin:ace_acerun_change", run.pk)
    walk.sees("Write the returns", "Good. Always name the warehouse in the stock log")
    walk.page.locator("text=Found").first.scroll_into_view_if_needed()


def jobs(walk):
    walk.go("admin:jobs_job_changelist")
    walk.page.wait_for_selector("#result_list, #content :text('0 jobs')")
    walk.go("console:schedules")
    walk.sees("playbook-tidying")


def key(walk):
    walk.go("admin:access_apikey_add")
    walk.page.fill("input[name=name]", "coder-8")
    walk.page.select_option("select[name=projects]", str(walk.project.pk), force=True)
    walk.page.click("button:has-text('Save')")
    walk.page.wait_for_selector("button[data-copy]")
    assert ApiKey.objects.filter(name="coder-8").exists()


def audit(walk):
    walk.go("admin:audit_auditevent_changelist")
    walk.sees("Download as CSV")
    path = reverse("admin:audit_auditevent_csv")
    answer = walk.page.request.get(walk.watched.server + path)
    assert "key.issued" in answer.text()


def weekly(walk):
    walk.go("console:weekly")
    walk.sees("Download as Markdown", "Always name the warehouse in the stock log")


def do_nothing(walk):
    """The step has no second part."""


# Heading of docs/curating.md, name of its picture, steps before and after the picture.
STEPS = [
    ("Start", "", start, do_nothing),
    ("Home: is all well?", "home", home, do_nothing),
    ("Review: what waits for you", "review", review, do_nothing),
    ("Decide with the keyboard", "edit", edit, after_edit),
    ("Possible duplicates", "duplicates", duplicates, after_duplicates),
    ("Quarantine", "quarantine", quarantine, after_quarantine),
    ("Applied automatically", "automatic", automatic, after_automatic),
    ("Revisions: the playbook as it was", "revisions", revisions, after_revisions),
    ("Search", "search", search, do_nothing),
    ("Files", "file", files, do_nothing),
    ("Runs", "run", a_run, do_nothing),
    ("Jobs", "", jobs, do_nothing),
    ("Keys", "key", key, do_nothing),
    ("Audit", "", audit, do_nothing),
    ("Weekly", "weekly", weekly, do_nothing),
]
