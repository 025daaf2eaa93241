"""The review inbox: what it shows, what it decides, and whom it refuses."""

from __future__ import annotations

import itertools
import re
import uuid

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from ace.models import AceRun, ObservedRepair
from audit.models import AuditEvent
from common.caller import Role
from console.inbox import proposal_cards, reach
from inference.embedding import active_model
from inference.embedding.calibration import Scale
from inference.errors import InferenceError
from memories.models import PossibleDuplicate
from memories.store import write
from memories.store.drafts import Draft
from playbook.lessons import memory_removal
from playbook.models import Playbook, PlaybookDelta, PlaybookEntry
from playbook.review import decide
from projects.models import Membership
from tests.playbook.conftest import propose as submit
from tests.playbook.conftest import reword

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202eabc שלום 😀 "
RULE = "When calling `edit_file`, pass `path` instead of `file`."
MORE = f"{RULE} It also takes `encoding`."
OTHER = "When running `pytest`, set `DJANGO_SETTINGS_MODULE` before."
DATA = {"HTTP_ACCEPT": "application/json"}


@pytest.fixture
def propose(project, alice, learned):
    """Submit proposals of a run."""

    def make(text, **fields):
        return submit(project, [learned(text, **fields)], alice)[0]

    return make


@pytest.fixture
def many(project, a_memory, an_entry):
    """Create rows for each list, each with everything that a card shows."""

    labels = itertools.count(100)

    def new_entry():
        return an_entry(f"gotchas-{next(labels):05}")

    def make(count):
        statuses = ("pending", "stale", "applied", "rejected")
        for number in range(count):
            for status in statuses:
                entry = new_entry()
                delta_of(project, entry, status, risk="low")
            delta_of(project, entry, "pending", risk="quarantine")
            PossibleDuplicate.objects.create(
                project=project,
                memory=a_memory(),
                other=a_memory(),
                similarity=0.9,
                why_not_merged=f"{number}",
            )

    return make


def delta_of(project, entry, status, **fields):
    target = {"id": str(entry.pk), "version": 1}
    return PlaybookDelta.objects.create(
        project=project,
        operation="merge",
        entry=entry,
        expected_version=entry.version,
        targets=[target],
        content=RULE,
        evidence=[{"field": "result", "start": 0, "end": 3, "quote": "Whe"}],
        gates=[{"name": "quote", "verdict": "pass", "value": 1, "threshold": 1}],
        producer="rule",
        proposed_by="a",
        idempotency_key=uuid.uuid4().hex,
        status=status,
        **fields,
    )


@pytest.fixture
def waiting_deltas(propose, project):
    """Proposals that wait for a person."""
    project.settings = project.settings | {"policy": "manual"}
    project.save()
    return propose


@pytest.fixture
def a_run(project):
    """Store a finished task with a goal."""

    def a_run(goal):
        return AceRun.objects.create(
            project=project,
            agent_id="a",
            actor="a",
            state="done",
            request={"goal": goal},
        )

    return a_run


def effect_of(client, delta):
    return client.get(reverse("console:inbox_nearby", args=[delta.pk])).content.decode()


def inbox(**asked):
    return (
        reverse("console:inbox") + "?" + "&".join(f"{n}={v}" for n, v in asked.items())
    )


def decision_url(delta, name):
    return reverse("console:inbox_decide", args=[delta.pk, name])


def undo(client, delta):
    """Undo a decision, or an undo, as the card that shows it does."""
    version = PlaybookDelta.objects.get(pk=delta.pk).version
    return client.post(decision_url(delta, "undo"), {"version": version})


def page_of(client, **asked):
    answer = client.get(inbox(**asked))
    assert answer.status_code == 200
    return answer.content.decode()


class TestLists:
    def test_it_shows_what_waits_with_its_evidence_and_gates(
        self, waiting_deltas, curator
    ):
        delta = waiting_deltas(RULE)

        page = page_of(curator)

        assert "instead of `file`" in page
        assert reverse("console:inbox_quote", args=[delta.pk, 1]) in page
        assert "Quotes have its names and numbers word for word: 1." in page
        assert "Accept" in page

    def test_a_proposal_is_said_in_words(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE, kind="fix")
        gates = [
            {"name": "reach", "verdict": "warn", "value": "one user"},
            {"name": "unsafe", "verdict": "pass", "value": ""},
            {"name": "unsafe", "verdict": "pass", "value": ""},
            {"name": "worth", "verdict": "pass", "value": 11, "threshold": 40},
        ]
        quote = {"field": "tool_usage.0.result", "quote": "unknown flag"}
        PlaybookDelta.objects.filter(pk=delta.pk).update(
            gates=gates, risk="high", evidence=[quote]
        )

        page = page_of(curator)

        assert "High risk. Because it comes from the memory of one user." in page
        assert "kind: " in page and "a failure and its cure" in page
        assert "It is one new sentence of 11 words that names something." in page
        assert "2 of 3 checks passed" in page
        assert "Call 1, what it returned" in page
        assert "proposed by the built-in rules" in page
        assert "tool_usage" not in page

    def test_only_what_can_be_selected_asks_for_a_selection(
        self, waiting_deltas, curator
    ):
        delta = waiting_deltas(RULE)
        accept = re.compile(r"data-bulk-accept( hidden)?>")
        assert accept.search(page_of(curator))[1] is None

        PlaybookDelta.objects.filter(pk=delta.pk).update(risk="high")

        assert accept.search(page_of(curator))[1] == " hidden"
        assert "Reject selected" in page_of(curator)

    def test_it_shows_the_memory_that_an_agent_would_forget(
        self, curator, project, bob
    ):
        draft = Draft(content="The <b>tide</b> turns at noon.", memory_type="learning")
        memory = write.store(project, draft, bob).memory
        memory_removal.propose_removal(memory, bob, reason="It is <i>over</i>.")

        page = page_of(curator)

        assert "Forget a memory" in page
        assert "The &lt;b&gt;tide&lt;/b&gt; turns at noon." in page
        assert "It is &lt;i&gt;over&lt;/i&gt;." in page
        assert reverse("admin:memories_memory_change", args=[memory.pk]) in page

    def test_it_shows_what_a_lesson_leads_to(self, waiting_deltas, curator):
        text = "Run `pip install requets` instead of `pip install requests`."
        delta = waiting_deltas(text)

        assert delta.risk == "high"
        assert "It leads to another package" in page_of(curator)

    def test_the_riskiest_comes_first_then_the_most_evidence_then_the_oldest(
        self, waiting_deltas, curator
    ):
        low = [
            waiting_deltas(f"When calling `tool_{n}`, pass `path`.") for n in range(3)
        ]
        quote = low[0].evidence[0]
        PlaybookDelta.objects.filter(pk=low[2].pk).update(evidence=[quote, quote])
        PlaybookDelta.objects.filter(pk=low[1].pk).update(risk="high")

        page = page_of(curator)

        order = [page.index(f'id="card-{low[n].pk}"') for n in (1, 2, 0)]
        assert order == sorted(order)

    def test_quarantine_is_a_list_of_its_own(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)
        PlaybookDelta.objects.filter(pk=delta.pk).update(risk="quarantine")

        assert f"card-{delta.pk}" not in page_of(curator)
        assert f"card-{delta.pk}" in page_of(curator, tab="quarantine")

    def test_what_was_applied_without_a_person_is_listed_for_a_week(
        self, propose, curator
    ):
        delta = propose(RULE)
        assert delta.status == "applied"

        assert f"card-{delta.pk}" in page_of(curator, tab="automatic")

    def test_a_rejected_one_says_how_often_it_came_again(
        self, waiting_deltas, curator, alice
    ):
        delta = decide.reject(waiting_deltas(RULE), alice, reason="too vague")
        PlaybookDelta.objects.filter(pk=delta.pk).update(seen_again=3)

        page = page_of(curator, tab="rejected")

        assert "seen 3 times again" in page
        assert "too vague" in page

    @pytest.mark.parametrize(
        ("name", "fits", "misses"),
        [
            ("category", "gotchas", "patterns"),
            ("producer", "rule", "human"),
            ("kind", "fix", "check"),
        ],
    )
    def test_the_filters_are_in_the_url(
        self, waiting_deltas, curator, name, fits, misses
    ):
        delta = waiting_deltas(RULE, kind="fix")

        assert f"card-{delta.pk}" in page_of(curator, **{name: fits})
        page = page_of(curator, **{name: misses})
        assert f"card-{delta.pk}" not in page
        assert "Nothing matches these filters" in page

    def test_a_run_is_a_filter_and_nonsense_matches_nothing(
        self, waiting_deltas, curator
    ):
        delta = waiting_deltas(RULE)

        assert f"card-{delta.pk}" in page_of(curator, run=str(delta.run_id))
        assert f"card-{delta.pk}" not in page_of(curator, run=str(uuid.uuid4()))
        assert f"card-{delta.pk}" not in page_of(curator, run="nonsense")

    def test_an_unknown_list_is_not_found(self, waiting_deltas, curator):
        assert curator.get(inbox(tab="nonsense")).status_code == 404

    def test_an_empty_list_says_what_it_will_list(self, project, curator):
        assert "Nothing waits for a decision" in page_of(curator)

    def test_it_goes_page_by_page(self, waiting_deltas, curator):
        for n in range(21):
            waiting_deltas(f"When calling `tool_{n}`, pass `path`.")

        assert page_of(curator).count('class="in-card') == 20
        assert page_of(curator, page=2).count('class="in-card') == 1

    @pytest.mark.parametrize(
        "tab",
        ["pending", "duplicates", "quarantine", "automatic", "rejected"],
    )
    def test_a_long_list_needs_as_many_queries_as_a_short_one(
        self, waiting_deltas, curator, tab, many, django_assert_max_num_queries
    ):
        many(1)
        page_of(curator, tab=tab)  # what is remembered from now on
        with django_assert_max_num_queries(QUERIES) as short:
            page_of(curator, tab=tab)
        many(12)

        with django_assert_max_num_queries(QUERIES) as long:
            page_of(curator, tab=tab)

        assert len(long) == len(short)


QUERIES = 24


class TestDecisions:
    def test_it_accepts_and_offers_to_undo(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        answer = curator.post(
            decision_url(delta, "accept"), {"version": 1}, follow=True
        )

        delta.refresh_from_db()
        assert (delta.status, delta.reviewer) == ("accepted", "user:bob")
        page = answer.content.decode()
        assert f"Accepted: add {delta.entry.label}." in page
        assert reverse("console:inbox_undo") in page
        assert AuditEvent.objects.filter(verb="delta.accept").exists()

    def test_it_undoes_an_accepted_one(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)
        curator.post(decision_url(delta, "accept"))

        curator.post(reverse("console:inbox_undo"), {"id": str(delta.pk)})

        delta.refresh_from_db()
        assert delta.status == "reverted"
        assert not PlaybookEntry.objects.current().exists()

    def test_it_accepts_in_a_persons_words(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        curator.post(
            decision_url(delta, "edit"), {"content": OTHER, "category": "patterns"}
        )

        delta.refresh_from_db()
        assert (delta.status, delta.producer) == ("edited", "human")
        assert (delta.entry.content, delta.entry.category) == (OTHER, "patterns")

    def test_a_lesson_takes_the_place_of_the_rule_that_it_is_near(
        self, waiting_deltas, curator, write
    ):
        old, delta = write(RULE), waiting_deltas(RULE.replace("When", "Never when"))
        page = page_of(curator)
        assert f"Accept in place of {old.label}" in page

        answer = curator.post(decision_url(delta, "accept"), {"replaces": old.label})

        old.refresh_from_db()
        delta.refresh_from_db()
        assert answer.status_code in (200, 302)
        assert (old.status, old.superseded_by_id) == ("superseded", delta.entry_id)

    def test_a_condition_that_a_person_empties_is_removed(
        self, waiting_deltas, curator
    ):
        delta = waiting_deltas(RULE, settings={"condition": "in CI"})

        curator.post(decision_url(delta, "edit"), {"content": OTHER, "condition": ""})

        delta.refresh_from_db()
        assert (delta.entry.content, delta.entry.condition) == (OTHER, "")

    def test_an_emptied_text_is_refused_and_stays_empty(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE, settings={"condition": "in CI"})

        typed = {"content": "", "condition": "on a laptop"}
        answer = curator.post(decision_url(delta, "edit"), typed)

        page = answer.content.decode()
        delta.refresh_from_db()
        assert (answer.status_code, delta.status) == (400, "pending")
        assert "content: This field may not be blank." in page
        assert 'dir="auto"></textarea>' in page.split("When it holds")[0]
        assert 'value="on a laptop"' in page

    def test_a_text_too_long_for_its_field_stays_unless_it_is_rewritten(
        self, waiting_deltas, curator
    ):
        delta = waiting_deltas(RULE)
        PlaybookDelta.objects.filter(pk=delta.pk).update(content="Pass it. " * 500)

        typed = {"content": "", "condition": "on a laptop"}
        curator.post(decision_url(delta, "edit"), typed)

        entry = PlaybookEntry.objects.get()
        assert (len(entry.content), entry.condition) == (4_500, "on a laptop")

    def test_line_breaks_are_kept_as_one_character(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        curator.post(
            decision_url(delta, "edit"), {"content": "Pass `path`.\r\nAlways."}
        )

        delta.refresh_from_db()
        assert delta.entry.content == "Pass `path`.\nAlways."

    def test_it_rejects_with_a_reason(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        curator.post(decision_url(delta, "reject"), {"reason_code": "too_vague"})

        delta.refresh_from_db()
        assert (delta.status, delta.review_note) == ("rejected", "too vague")
        assert delta.payload["reason_code"] == "too_vague"

    def test_a_rejection_needs_a_known_reason(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        answer = curator.post(decision_url(delta, "reject"), {"reason_code": "because"})

        assert answer.status_code == 400
        assert "is not a valid choice" in answer.content.decode()

    def test_it_merges_into_an_entry_by_its_label(self, waiting_deltas, curator, write):
        entry = write(RULE)
        delta = waiting_deltas(MORE)

        curator.post(decision_url(delta, "merge"), {"label": entry.label})

        entry.refresh_from_db()
        assert entry.content == MORE

    def test_a_merge_that_code_cannot_make_shows_both_texts(
        self, waiting_deltas, curator, write
    ):
        entry = write("When calling `edit_file`, never pass `path`.")
        delta = waiting_deltas(RULE)

        answer = curator.post(decision_url(delta, "merge"), {"label": entry.label})

        page = answer.content.decode()
        assert answer.status_code == 422
        assert "never pass `path`. When calling" in page

    def test_an_unknown_label_is_reported(self, waiting_deltas, curator):
        answer = curator.post(
            decision_url(waiting_deltas(RULE), "merge"), {"label": "gotchas-99"}
        )

        assert answer.status_code == 400
        assert "The playbook has no entry gotchas-99." in answer.content.decode()

    def test_an_applied_one_is_undone_and_put_in_force_again(self, propose, curator):
        delta = propose(RULE)
        curator.post(decision_url(delta, "undo"))
        delta.refresh_from_db()
        assert delta.status == "reverted"

        seen = {"id": str(delta.pk), "version": delta.version}
        curator.post(reverse("console:inbox_undo"), seen)

        delta.refresh_from_db()
        assert delta.status == "applied"

    def test_the_next_card_has_the_focus(self, waiting_deltas, curator):
        first, second = (
            waiting_deltas(f"When calling `t_{n}`, pass `path`.") for n in "ab"
        )

        answer = curator.post(decision_url(first, "accept"), {"next": str(second.pk)})

        assert answer.url.endswith(f"#card-{second.pk}")

    def test_a_script_gets_the_parts_to_replace(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        answer = curator.post(decision_url(delta, "accept"), **DATA).json()

        assert answer["gone"] == str(delta.pk)
        assert answer["counts"]["pending"] == "0"
        assert answer["counts"]["waiting"] == ""
        assert "data-undo" in answer["said"]

    @pytest.mark.parametrize("given", ["\n evil: 1", "'>", "a" * 5_000])
    def test_a_bad_next_card_does_not_break_the_answer(
        self, waiting_deltas, curator, given
    ):
        answer = curator.post(
            decision_url(waiting_deltas(RULE), "accept"), {"next": given}
        )

        assert answer.status_code == 302

    @pytest.mark.parametrize(
        "typed", [{}, {"id": "nonsense"}, {"id": str(uuid.uuid4())}]
    )
    def test_an_undo_of_nothing_is_refused(self, project, curator, typed):
        answer = curator.post(reverse("console:inbox_undo"), typed, **DATA)

        assert answer.status_code in (400, 404)

    def test_an_unknown_decision_is_not_found(self, waiting_deltas, curator):
        assert (
            curator.post(decision_url(waiting_deltas(RULE), "frobnicate")).status_code
            == 404
        )


class TestTwoCurators:
    def test_the_second_person_learns_who_decided_and_loses_nothing(
        self, waiting_deltas, curator, owner
    ):
        delta = waiting_deltas(RULE)
        owner.post(decision_url(delta, "reject"), {"reason_code": "wrong"})

        answer = curator.post(
            decision_url(delta, "edit"), {"content": OTHER, "version": 1}
        )

        page = answer.content.decode()
        assert answer.status_code == 409
        assert "This delta is already rejected by user:alice." in page
        assert OTHER in page

    def test_a_renewed_one_is_refused_at_its_old_version(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)
        PlaybookDelta.objects.filter(pk=delta.pk).update(version=2)

        answer = curator.post(decision_url(delta, "accept"), {"version": 1}, **DATA)

        assert answer.status_code == 409
        assert "This delta is at version 2, not 1" in answer.json()["card"]
        assert 'name="version" value="2"' in answer.json()["card"]

    def test_an_undo_keeps_a_later_decision(self, waiting_deltas, curator, owner):
        delta = waiting_deltas(RULE)
        said = curator.post(decision_url(delta, "accept"), **DATA).json()["said"]
        undo(owner, delta)
        undo(owner, delta)
        version = re.search('name="version" value="(.)"', said)[1]

        answer = curator.post(
            reverse("console:inbox_undo"), {"id": str(delta.pk), "version": version}
        )

        delta.refresh_from_db()
        assert (delta.status, delta.reviewer) == ("accepted", "user:bob")
        assert answer.status_code == 302

    def test_an_undo_keeps_a_later_undo(self, waiting_deltas, curator, owner):
        delta = waiting_deltas(RULE)
        said = curator.post(decision_url(delta, "accept"), **DATA).json()["said"]
        version = re.search('name="version" value="(.)"', said)[1]
        owner.post(decision_url(delta, "undo"))

        answer = curator.post(
            reverse("console:inbox_undo"),
            {"id": str(delta.pk), "version": version},
            **DATA,
        )

        delta.refresh_from_db()
        assert (delta.status, delta.reviewer) == ("reverted", "user:alice")
        assert "This delta is at version 3, not 2" in answer.json()["said"]
        assert answer.status_code == 409

    @pytest.mark.parametrize("times", [0, 1])
    def test_an_old_card_undoes_nothing(self, propose, curator, owner, times):
        delta = propose(RULE)
        for _ in range(times):
            undo(owner, delta)
        seen = PlaybookDelta.objects.get(pk=delta.pk)
        for _ in range(2):
            assert undo(owner, delta).status_code == 302

        answer = curator.post(
            decision_url(delta, "undo"), {"version": seen.version}, **DATA
        )

        delta.refresh_from_db()
        assert answer.status_code == 409
        assert (delta.status, delta.version) == (seen.status, seen.version + 2)

    def test_a_stale_one_says_what_changed_and_is_renewed(
        self, waiting_deltas, curator, write, alice
    ):
        entry = write(author_kind="rule")
        delta = waiting_deltas(
            f"{entry.content} Never pass `name`.",
            operation="update",
            entry=entry,
            expected_version=entry.version,
        )
        reword(entry, alice, f"{entry.content} Soon.")

        typed = {"content": "In my words: pass `path`."}
        before = page_of(curator)
        assert "Changes since it was proposed" in before
        assert "<ins>Soon.</ins>" in before
        answer = curator.post(decision_url(delta, "edit"), typed, **DATA)

        delta.refresh_from_db()
        card = answer.json()["card"]
        assert (answer.status_code, delta.status) == (409, "pending")
        assert "The entry has changed since this proposal." in card
        assert "<del>Soon.</del>" in card
        assert typed["content"] in card
        curator.post(decision_url(delta, "edit"), typed, **DATA)
        delta.refresh_from_db()
        assert delta.status == "edited"


class TestBulk:
    def test_it_accepts_those_of_low_risk_and_counts_the_others(
        self, waiting_deltas, curator
    ):
        low = [
            waiting_deltas(f"When calling `tool_{n}`, pass `path`.") for n in range(2)
        ]
        high = waiting_deltas(OTHER)
        PlaybookDelta.objects.filter(pk__in=[d.pk for d in low]).update(risk="low")
        PlaybookDelta.objects.filter(pk=high.pk).update(risk="high")

        ids = [str(delta.pk) for delta in (*low, high)]
        answer = curator.post(
            reverse("console:inbox_bulk"), {"id": ids, "action": "accept"}, follow=True
        )

        page = answer.content.decode()
        assert "Accepted: 2." in page
        assert "not of low risk: 1." in page
        high.refresh_from_db()
        assert high.status == "pending"

    def test_it_undoes_all_of_them(self, waiting_deltas, curator):
        ids = [
            str(waiting_deltas(f"When calling `t_{n}`, pass `p`.").pk) for n in range(2)
        ]
        PlaybookDelta.objects.update(risk="low")
        curator.post(reverse("console:inbox_bulk"), {"id": ids, "action": "accept"})
        assert PlaybookDelta.objects.filter(status="accepted").count() == 2

        curator.post(reverse("console:inbox_undo"), {"id": ids})

        assert PlaybookDelta.objects.filter(status="reverted").count() == 2

    def test_it_rejects_the_selected(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        chosen = {"id": [str(delta.pk)], "action": "reject", "reason_code": "one_off"}
        curator.post(reverse("console:inbox_bulk"), chosen)

        delta.refresh_from_db()
        assert (delta.status, delta.review_note) == ("rejected", "one off")

    @pytest.mark.parametrize("typed", [{}, {"action": ""}, {"action": "approve"}])
    def test_it_decides_nothing_without_an_action(self, waiting_deltas, curator, typed):
        delta = waiting_deltas(RULE)
        PlaybookDelta.objects.update(risk="low")

        answer = curator.post(
            reverse("console:inbox_bulk"), {"id": [str(delta.pk)], **typed}, **DATA
        )

        assert answer.status_code == 400
        assert "Say whether to accept or to reject them." in answer.json()["said"]
        delta.refresh_from_db()
        assert delta.status == "pending"

    def test_it_asks_for_a_choice(self, waiting_deltas, curator):
        answer = curator.post(
            reverse("console:inbox_bulk"), {"action": "accept"}, **DATA
        )

        assert answer.status_code == 400
        assert "Choose some proposals first." in answer.json()["said"]


class TestDuplicates:
    @pytest.fixture
    def pair(self, project, alice):
        first, second = (
            write.store(project, Draft(content=text, memory_type="learning"), alice)
            for text in ("The feed sends local time", "The feed sends UTC time now")
        )
        return PossibleDuplicate.objects.create(
            project=project,
            memory=second.memory,
            other=first.memory,
            similarity=0.93,
            why_not_merged="identifier: UTC",
        )

    def settle(self, client, pair, name, **extra):
        url = reverse("console:inbox_settle", args=[pair.pk, name])
        return client.post(url + "?tab=duplicates", **extra)

    def test_its_button_starts_the_scan_and_the_page_shows_the_last_one(
        self, pair, curator, project, run_jobs
    ):
        assert "No scan has looked" in page_of(curator, tab="duplicates")

        answer = curator.post(reverse("console:inbox_scan") + "?tab=duplicates")

        assert answer.status_code == 302
        assert "is waiting" in page_of(curator, tab="duplicates")
        run_jobs()
        shown = page_of(curator, tab="duplicates")
        assert "compared 2 memories: 0 marked as duplicates" in shown
        assert "Scan for duplicates now" in shown

    def test_a_viewer_has_no_button_for_the_scan(self, pair, browser_of):
        viewer = browser_of(Role.VIEWER)

        assert "Scan for duplicates now" not in page_of(viewer, tab="duplicates")
        assert viewer.post(reverse("console:inbox_scan")).status_code == 403

    def test_both_are_shown_with_their_texts_and_the_guard(self, pair, curator):
        page = page_of(curator, tab="duplicates")

        assert "similarity 0.930" in page
        assert "identifier: UTC" in page
        assert "<del>local </del><ins>UTC </ins>" in page

    def test_it_merges_and_links_to_the_page_that_undoes_it(self, pair, curator):
        answer = self.settle(curator, pair, "merge", follow=True)

        pair.memory.refresh_from_db()
        assert pair.memory.duplicate_of == pair.other
        marked = reverse("console:inbox_marked", args=[pair.memory_id])
        assert marked in answer.content.decode()
        shown = curator.get(marked).content.decode()
        assert "Unmark" in shown
        curator.post(marked)
        pair.memory.refresh_from_db()
        assert not pair.memory.is_duplicate
        assert "is not marked as a duplicate" in curator.post(marked).content.decode()

    def test_a_note_is_refused_rather_than_cut(self, pair, curator):
        answer = self.settle(curator, pair, "keep", data={"note": "n" * 501})

        assert answer.status_code == 400
        pair.refresh_from_db()
        assert pair.state == "open"
        self.settle(curator, pair, "keep", data={"note": "n\x00" * 250})
        pair.refresh_from_db()
        assert pair.note == "n\ufffd" * 250

    def test_it_keeps_both(self, pair, curator):
        self.settle(curator, pair, "keep")

        pair.refresh_from_db()
        assert (pair.state, pair.decided_by) == ("kept_both", "user:bob")

    def test_the_second_person_learns_who_decided(self, pair, curator, owner):
        self.settle(owner, pair, "keep")

        answer = self.settle(curator, pair, "merge")

        assert answer.status_code == 409
        assert "by user:alice" in answer.content.decode()

    def test_charlie_cannot(self, pair, charlies, browser_of):
        assert self.settle(charlies, pair, "merge").status_code == 404
        marked = reverse("console:inbox_marked", args=[pair.memory_id])
        assert charlies.get(marked).status_code == 404
        assert self.settle(browser_of(Role.WRITER), pair, "merge").status_code == 403


class TestOneCard:
    def test_it_shows_the_nearest_entries_and_the_runs_that_it_is_for(
        self, waiting_deltas, curator, write, project
    ):
        entry = write("When calling `edit_file`, pass `path`.")
        goal = "When calling `edit_file`, pass `path` instead of `file`."
        run = AceRun.objects.create(
            project=project,
            agent_id="a",
            actor="a",
            state="done",
            request={"goal": goal},
        )
        delta = waiting_deltas(RULE)

        page = curator.get(
            reverse("console:inbox_card", args=[delta.pk])
        ).content.decode()

        assert f"Merge into {entry.label}" in page
        assert "Of the last 1 task, relevance alone picks it for 1:" in page
        assert "tasks met this failure" not in page
        assert reverse("admin:ace_acerun_change", args=[run.pk]) in page
        part = curator.get(reverse("console:inbox_nearby", args=[delta.pk]))
        assert f"Merge into {entry.label}" in part.content.decode()

    def test_a_task_that_uses_the_rule_s_tool_is_one_that_it_is_picked_for(
        self, waiting_deltas, curator, a_run
    ):
        a_run("Release the quarterly numbers with `gh` please.")
        delta = waiting_deltas(RULE, applies_to=("tool:gh",))

        page = effect_of(curator, delta)

        assert "relevance alone picks it for 1:" in page
        assert "the task uses gh" in page

    def test_it_says_that_a_session_is_given_a_rule_of_a_small_playbook(
        self, waiting_deltas, curator, a_run, project
    ):
        a_run("Bake bread.")
        delta = waiting_deltas(RULE)

        page = effect_of(curator, delta)

        assert (
            "As a rule, a session of this project that a hook starts is given it."
            in page
        )
        assert "The context of every task will have it" in page
        assert "relevance alone picks it for 0." in page
        Playbook.objects.filter(project=project).update(tokens=1_500)
        page = effect_of(curator, delta)
        assert "not every start will have it" in page
        assert "The context of a task will have it if relevance picks it." in page
        project.settings = {"hooks": {"session_start": False}}
        project.save()
        assert "No session is given it at its start" in effect_of(curator, delta)

    def test_a_merge_frees_the_tokens_of_the_other_rules(
        self, waiting_deltas, alice, write, project
    ):
        entry = write("When calling `edit_file`, pass `path` and close it.")
        delta = waiting_deltas(RULE)
        targets = [{"id": str(entry.pk), "version": entry.version}]
        PlaybookDelta.objects.filter(pk=delta.pk).update(targets=targets)
        delta.refresh_from_db()
        [card] = proposal_cards.build_cards([delta], alice)

        found = reach.estimate(card, alice)

        held = Playbook.objects.get(project=project).tokens
        assert found.tokens == held + card.tokens < entry.tokens + held
        assert found.rules == "1 rule"

    def test_relevance_reads_the_cosine_on_the_scale_of_the_model(
        self, waiting_deltas, curator, a_run, monkeypatch
    ):
        a_run("When calling `edit_file`, pass `path` instead.")
        delta = waiting_deltas(RULE)
        assert "relevance alone picks it for 1:" in effect_of(curator, delta)
        high = Scale(unrelated=0.999999, related=0.9999999)
        monkeypatch.setattr(active_model, "scale_of", lambda model: high)

        assert "relevance alone picks it for 0." in effect_of(curator, delta)

    def test_the_tasks_that_met_the_failure_are_counted(
        self, waiting_deltas, curator, a_run, project
    ):
        taught, same, _other = (a_run(f"Task {number}") for number in range(3))
        for run, cure in ((taught, "path"), (same, "encoding")):
            ObservedRepair.objects.create(
                project=project,
                run=run,
                signature="s" * 64,
                kind="tool",
                cure=cure,
                has_worked=run == taught,
                person="p",
                session=str(run.pk),
                seen={
                    "failed": "file",
                    "worked": "path",
                    "failed_call": 0,
                    "fixed_call": 1,
                },
            )
        delta = waiting_deltas(RULE, run_id=taught.pk)
        quotes = [{"field": f"tool_usage.{n}.arguments", "quote": "x"} for n in (0, 1)]
        PlaybookDelta.objects.filter(pk=delta.pk).update(evidence=quotes)

        page = effect_of(curator, delta)

        assert "2 of the last 3 tasks met this failure and tried to cure it:" in page

    def test_it_says_when_the_model_does_not_answer(
        self, waiting_deltas, curator, monkeypatch
    ):
        def fail(*texts):
            raise InferenceError("away", retryable=True)

        delta = waiting_deltas(RULE)
        delta.vectors.all().delete()
        monkeypatch.setattr(active_model, "embed", fail)

        answer = curator.get(reverse("console:inbox_nearby", args=[delta.pk]))

        assert "The rest of the effect is unknown" in answer.content.decode()

    def test_a_quote_is_marked_in_its_run(self, waiting_deltas, curator, project):
        result = f"It failed twice. {RULE} Then it passed."
        run = AceRun.objects.create(
            project=project,
            agent_id="a",
            actor="a",
            request={"goal": "g", "result": result},
        )
        delta = waiting_deltas(RULE, run_id=run.pk)
        quote = {"field": "result", "start": 17, "end": 17 + len(RULE), "quote": RULE}
        PlaybookDelta.objects.filter(pk=delta.pk).update(evidence=[quote])

        answer = curator.get(reverse("console:inbox_quote", args=[delta.pk, 1]))

        page = answer.content.decode()
        assert (
            f'It failed twice. <mark id="quote">{RULE}</mark> Then it passed.' in page
        )
        assert "The result of the task</bdi>" in page
        url = reverse("console:inbox_quote", args=[delta.pk, 2])
        assert curator.get(url).status_code == 404

    def test_a_quote_that_is_gone_is_reported(self, waiting_deltas, curator):
        answer = curator.get(
            reverse("console:inbox_quote", args=[waiting_deltas(RULE).pk, 1])
        )

        assert "does not contain the quote any more" in answer.content.decode()

    def test_its_kind_and_another_project_lead_to_the_list(
        self, waiting_deltas, curator, project, other_project
    ):
        delta = waiting_deltas(RULE, kind="fix")
        account = User.objects.get(username="bob")
        Membership.objects.create(
            project=other_project, account=account, role=Role.VIEWER
        )

        answer = curator.get(reverse("console:inbox_card", args=[delta.pk]))

        page = answer.content.decode()
        kind = f"?project={project.pk}&amp;tab=pending&amp;kind=fix"
        assert f'href="{reverse("console:inbox")}{kind}"' in page
        assert f'href="{reverse("console:inbox")}?project={other_project.pk}"' in page


class TestAddressesOfDecisions:
    """A GET of these URLs, as after signing in or by Enter in the address bar."""

    def test_that_of_one_proposal_leads_to_its_card(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)

        answer = curator.get(
            decision_url(delta, "accept") + "?tab=quarantine", follow=True
        )

        [(url, _)] = answer.redirect_chain
        assert url.startswith(reverse("console:inbox_card", args=[delta.pk]))
        assert "tab=quarantine" in url
        assert answer.status_code == 200
        delta.refresh_from_db()
        assert delta.status == "pending"

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("bulk", []),
            ("undo", []),
            ("settle", [uuid.uuid4(), "merge"]),
        ],
    )
    def test_the_others_lead_to_the_list(self, project, curator, name, said):
        address = reverse(f"console:inbox_{name}", args=said)

        answer = curator.get(address + "?tab=duplicates", follow=True)

        [(url, _)] = answer.redirect_chain
        assert url == inbox(project=project.pk, tab="duplicates")
        assert answer.status_code == 200
        assert curator.put(address).status_code == 405


class TestRoles:
    def test_a_viewer_sees_no_button_and_reads_why(self, waiting_deltas, browser_of):
        viewer = browser_of(Role.VIEWER)
        delta = waiting_deltas(RULE)

        page = page_of(viewer)

        assert RULE.split("`")[0] in page
        assert "only a curator can decide; your role here is viewer" in page
        assert decision_url(delta, "accept") not in page

    @pytest.mark.parametrize("name", ["accept", "edit", "reject", "merge", "undo"])
    def test_a_writer_decides_nothing(self, waiting_deltas, browser_of, write, name):
        entry = write(OTHER)
        delta = waiting_deltas(RULE)
        typed = {"content": OTHER, "reason_code": "wrong", "label": entry.label}

        answer = browser_of(Role.WRITER).post(decision_url(delta, name), typed)

        delta.refresh_from_db()
        assert answer.status_code in (403, 409)
        assert delta.status == "pending"

    def test_charlie_sees_nothing(self, waiting_deltas, charlies, project):
        delta = waiting_deltas(RULE)

        assert charlies.get(inbox(project=project.pk)).status_code == 404
        assert RULE[:20] not in page_of(charlies)
        for name in ("card", "nearby"):
            url = reverse(f"console:inbox_{name}", args=[delta.pk])
            assert charlies.get(url).status_code == 404
        assert charlies.post(decision_url(delta, "accept")).status_code == 404
        assert (
            charlies.get(reverse("console:inbox_quote", args=[delta.pk, 1])).status_code
            == 404
        )
        charlies.post(
            reverse("console:inbox_bulk"), {"id": [str(delta.pk)], "action": "accept"}
        )
        delta.refresh_from_db()
        assert delta.status == "pending"


class TestHostileTexts:
    def test_they_are_shown_as_texts(self, waiting_deltas, curator, project):
        delta = waiting_deltas(RULE)
        text = HOSTILE + "W" * 50_000
        PlaybookDelta.objects.filter(pk=delta.pk).update(
            content=text,
            reason=HOSTILE,
            review_note=HOSTILE,
            agent_id=HOSTILE,
            producer_name=HOSTILE,
            evidence=[{"field": HOSTILE, "quote": text}, HOSTILE, None],
            gates=[{"name": HOSTILE, "verdict": HOSTILE, "message": text}, HOSTILE],
            payload={"condition": text, "tags": [HOSTILE]},
        )
        urls = [inbox(), reverse("console:inbox_card", args=[delta.pk])]
        urls.append(reverse("console:inbox_quote", args=[delta.pk, 1]))

        for url in urls:
            page = curator.get(url).content.decode()
            assert "<script>alert" not in page
            assert "<img src=x" not in page
            assert "&lt;script&gt;" in page

    def test_a_text_too_long_for_its_field_is_not_in_it(self, waiting_deltas, curator):
        delta = waiting_deltas(RULE)
        PlaybookDelta.objects.filter(pk=delta.pk).update(content="W" * 50_000)

        page = page_of(curator)

        assert "too long to be edited here" in page
        assert "W" * 4_001 not in page

    def test_texts_of_one_word_repeated_are_compared_in_no_time(self):
        from console import text_diff

        found = text_diff.compare("a " * 50_000, "a b " * 50_000)

        assert [part.kind for part in found.parts] == ["removed", "added"]
        assert found.rest == 196_000
