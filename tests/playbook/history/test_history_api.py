from __future__ import annotations

import uuid

import pytest

from playbook.models import PlaybookChange, PlaybookDelta, PlaybookEntry
from tests.playbook.conftest import propose

API = "/api/v1/playbook"
OTHER = "When running `pytest`, set `DJANGO_SETTINGS_MODULE` before."


@pytest.fixture
def reword(alice_api):
    def patch(entry, **changes):
        answer = alice_api.patch(f"{API}/rules/{entry.pk}", changes)
        assert answer.status_code == 200, answer.json()
        return answer.json()

    return patch


@pytest.fixture
def revert(alice_api, project):
    def post(**named):
        body = {"project_id": str(project.pk), "reason": "A mistake."} | named
        return alice_api.post(f"{API}/revert", body)

    return post


class TestRevert:
    def test_it_answers_the_revision_and_what_it_moved(self, revert, reword, write):
        entry = write()
        delta = reword(entry, tags=["b"])["delta"]["id"]

        answer = revert(delta=delta)

        assert answer.status_code == 200
        assert answer.json() == {
            "revision": 3,
            "change_count": 1,
            "entry_count": 1,
            "entries": [
                {
                    "id": str(entry.pk),
                    "label": entry.label,
                    "status": "active",
                    "version": 3,
                }
            ],
            "delta_count": 1,
            "deltas": [{"id": delta, "operation": "update", "status": "reverted"}],
            "notes": [],
        }
        assert PlaybookChange.objects.first().reason == "A mistake."

    @pytest.mark.parametrize(("operation", "helpful"), [("add", 0), ("vote", 1)])
    def test_a_delta_that_was_applied_twice_is_in_force_again_once(
        self, operation, helpful, revert, alice_api, project, learned, bob, write
    ):
        vote = {"operation": "vote", "entry": write(OTHER), "vote": "helpful"}
        proposal = learned(**vote) if operation == "vote" else learned()
        [delta] = propose(project, [proposal], bob)
        for action in ("undo", "undo", "undo"):
            delta.refresh_from_db()
            seen = {"expected_version": delta.version}
            answer = alice_api.post(f"/api/v1/proposals/{delta.pk}/{action}", seen)
            assert answer.status_code == 200, answer.json()

        answer = revert(delta=str(delta.pk))

        assert answer.status_code == 200, answer.json()
        [entry] = answer.json()["entries"]
        assert entry["status"] == "active"
        assert PlaybookEntry.objects.get(pk=entry["id"]).helpful == helpful

    @pytest.mark.parametrize("way", ["change", "run", "revision", "range"])
    def test_it_accepts_every_kind_of_target(
        self, way, revert, bob_api, project, learned, bob
    ):
        proposal = learned()
        propose(project, [proposal], bob)
        change = PlaybookChange.objects.get()

        answer = revert(
            **{
                "change": {"change": str(change.pk)},
                "run": {"run": str(proposal.run_id)},
                "revision": {"revision": 0},
                "range": {"from_revision": 0, "to_revision": 1},
            }[way]
        )

        assert answer.status_code == 200, answer.json()
        assert answer.json()["entries"][0]["status"] == "deleted"

    def test_it_lists_the_changes_that_prevent_it(self, revert, reword, write):
        entry = write()
        first = reword(entry, content="Pass `path`.")["delta"]["id"]
        second = reword(entry, content="Pass `path` only.")["delta"]["id"]

        answer = revert(delta=first)

        [told] = answer.json()["overlaps"]
        assert (answer.status_code, answer.json()["code"]) == (409, "overlap")
        assert told["entry_label"] == entry.label
        assert told["columns"] == ["content"]
        assert (told["delta_id"], told["revision"]) == (second, 3)
        assert entry.label in answer.json()["detail"]

    def test_it_says_so_when_nothing_is_in_force(self, revert, write):
        write()
        delta = PlaybookDelta.objects.get()

        assert revert(revision=1).json()["code"] == "nothing_to_revert"
        assert revert(run=str(uuid.uuid4())).json()["code"] == "nothing_to_revert"
        assert revert(change=str(uuid.uuid4())).status_code == 404
        PlaybookDelta.objects.filter(pk=delta.pk).update(status="rejected")
        assert revert(delta=str(delta.pk)).json()["code"] == "not_applied"

    @pytest.mark.parametrize(
        "named",
        [
            {},
            {"revision": 0, "run": str(uuid.uuid4())},
            {"from_revision": 0},
            {"to_revision": 1},
            {"from_revision": 1, "to_revision": 1},
            {"revision": 0, "to_revision": 1},
            {"revision": -1},
            {"change": "first"},
        ],
    )
    def test_it_wants_exactly_one_of_them(self, revert, write, named):
        write()

        assert revert(**named).json()["code"] == "invalid"

    def test_it_happens_once_for_an_idempotency_key(
        self, alice_api, project, write, reword
    ):
        delta = reword(write(), tags=["b"])["delta"]["id"]
        body = {"project_id": str(project.pk), "delta": delta}
        keyed = {"headers": {"Idempotency-Key": "once"}}

        answers = [alice_api.post(f"{API}/revert", body, **keyed) for _ in range(2)]

        assert answers[0].json() == answers[1].json()
        assert PlaybookDelta.objects.get(pk=delta).status == "reverted"

    def test_it_needs_a_curator(self, bob_api, project, write):
        write()

        answer = bob_api.post(
            f"{API}/revert", {"project_id": str(project.pk), "revision": 0}
        )

        assert answer.status_code == 403


class TestDiff:
    @pytest.fixture
    def diff(self, bob_api, project):
        def get(**query):
            query = {"project_id": str(project.pk)} | query
            return bob_api.get(f"{API}/diff", query)

        return get

    def test_it_tells_added_removed_and_changed(self, diff, write, reword, alice_api):
        changed = write("Run `make a` first.")
        removed = write("Run `make b` first.")
        reword(changed, content="Run `make a` twice.", pinned=True)
        added = write("Run `make c` first.")
        alice_api.delete(f"{API}/rules/{removed.pk}")

        answer = diff(from_revision=2).json()

        kinds = {one["entry_label"]: one["kind"] for one in answer["results"]}
        first = answer["results"][0]
        assert kinds == {
            changed.label: "changed",
            removed.label: "removed",
            added.label: "added",
        }
        assert (answer["from_revision"], answer["to_revision"]) == (2, 5)
        assert [answer[kind] for kind in ("added", "removed", "changed")] == [1, 1, 1]
        assert first["columns"]["pinned"] == {"before": False, "after": True}
        assert first["words"] == [
            {"kind": "same", "text": "Run `make a` "},
            {"kind": "removed", "text": "first."},
            {"kind": "added", "text": "twice."},
        ]

    def test_it_leaves_out_what_came_and_went_between(self, diff, write, revert):
        write()
        write("Run `make b` first.")
        revert(revision=1)

        assert diff(from_revision=1).json()["results"] == []

    def test_it_reads_backwards_as_well(self, diff, write):
        write()

        [one] = diff(from_revision=1, to_revision=0).json()["results"]

        assert one["kind"] == "removed"

    def test_it_comes_in_pages(self, diff, write):
        for n in range(3):
            write(f"Run `make {n}` first.")

        page = diff(from_revision=0, limit=2).json()

        assert (len(page["results"]), page["added"]) == (2, 3)
        assert page["next"]

    def test_it_refuses_a_future_revision(self, diff, write):
        write()

        assert diff(from_revision=0, to_revision=9).json()["code"] == "unknown_revision"
        assert diff(from_revision=9).json()["code"] == "unknown_revision"
        assert diff().json()["code"] == "invalid"
