"""mem0's methods on one memory, and on the memories of a user."""

from __future__ import annotations

from dataclasses import replace

import pytest

from common.caller import Role
from inference.language.fake import script_answers
from mcp_server.mem0 import find, remove
from memories.models import Memory
from memories.read.search import rank_rows

pytestmark = pytest.mark.django_db
SAID = [
    {"role": "user", "content": "I moved to Lisbon in May."},
    {"role": "assistant", "content": "I shall look for flights from Lisbon."},
]


class TestPing:
    def test_it_names_the_project_of_the_key(self, bob_mem0, project):
        assert bob_mem0.ping() == {
            "status": "ok",
            "org_id": str(project.organization_id),
            "project_id": str(project.pk),
            "user_email": None,
        }

    def test_a_key_of_several_projects_names_one_in_the_host(
        self, mem0_of, project, other_project
    ):
        of_both = mem0_of(project, other_project)

        assert "/mem0/{project}" in of_both.ping(status=400)["detail"]
        of_both.base = f"/mem0/{project.name}"
        assert of_both.ping()["project_id"] == str(project.pk)

    def test_a_wrong_key_is_refused_in_json(self, bob_mem0):
        bob_mem0.api.credentials(HTTP_AUTHORIZATION="Token am_wrong")
        answer = bob_mem0.api.get("/v1/ping/")

        assert answer.status_code == 401
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json()["code"] == "unauthenticated"


class TestAdd:
    def test_each_message_is_a_memory_of_the_user(self, bob_mem0, project):
        answer = bob_mem0.add(SAID, user_id="ann", metadata={"trip": 7})

        texts = [each["memory"] for each in answer["results"]]
        assert texts == [message["content"] for message in SAID]
        assert {each["event"] for each in answer["results"]} == {"ADD"}
        assert "LANGUAGE_PROVIDER" in " ".join(answer["notes"])
        row = Memory.objects.get(pk=answer["results"][0]["id"])
        assert row.typed_scope.to_dict() == {"kind": "user", "user_id": "ann"}
        assert (row.metadata, row.provenance) == ({"trip": 7}, {"role": "user"})

    @pytest.mark.parametrize(
        ("ids", "scope"),
        [
            ({"user_id": "ann"}, {"kind": "user", "user_id": "ann"}),
            ({"run_id": "r"}, {"kind": "session", "session_id": "r"}),
            (
                {"run_id": "r", "user_id": "ann", "app_id": "shop"},
                {"kind": "session", "session_id": "r", "user_id": "ann"},
            ),
            (
                {"app_id": "shop"},
                {"kind": "object", "object_type": "app", "object_id": "shop"},
            ),
        ],
    )
    @pytest.mark.parametrize("inside", [True, False])
    def test_the_ids_are_its_scope(self, bob_mem0, ids, scope, inside):
        sent = {"filters": ids} if inside else ids
        memory_id = bob_mem0.add_one("The gate closes at six.", agent_id="bot", **sent)

        assert Memory.objects.get(pk=memory_id).scope == scope
        shown = bob_mem0.get(memory_id)
        names = ("user_id", "agent_id", "app_id", "run_id")
        assert {name: shown[name] for name in names} == {
            **dict.fromkeys(names),
            **ids,
            "agent_id": "bot",
        }
        assert shown["metadata"] == {}

    def test_what_is_known_is_not_stored_again(self, bob_mem0):
        first = bob_mem0.add_one("Yes.", user_id="ann")
        (again,) = bob_mem0.add("Yes.", infer=False, user_id="ann")["results"]

        assert again == {"id": first, "memory": "Yes.", "event": "NONE"}

    def test_a_model_finds_the_facts_that_the_users_words_prove(
        self, bob_mem0, settings
    ):
        settings.LANGUAGE_PROVIDER = "fake"
        fact = {"content": "The user moved to Lisbon.", "quote": "I moved to Lisbon"}
        invented = {"content": "The user likes fado.", "quote": "I like fado songs"}
        with script_answers({"facts": [fact, invented]}):
            answer = bob_mem0.add(SAID, user_id="ann")

        (found,) = answer["results"]
        assert found["memory"] == fact["content"]
        assert Memory.objects.get(pk=found["id"]).kind == "fact"
        assert "infer: facts refused: no_quote 1" in answer["notes"]
        assert any("what assistants say" in note for note in answer["notes"])

    @pytest.mark.parametrize(
        "forbidden",
        [
            {"language": {"enabled": False}},
            {"agents": {"enable_auto_fact_extraction": False}},
        ],
    )
    def test_a_model_that_the_owner_forbids_is_not_asked(
        self, bob_mem0, project, settings, forbidden
    ):
        settings.LANGUAGE_PROVIDER = "fake"
        project.settings = forbidden
        project.save()
        with script_answers({"facts": []}) as asked:
            answer = bob_mem0.add(SAID, user_id="ann")

        assert len(answer["results"]) == len(SAID)
        assert "language.enabled" in " ".join(answer["notes"])
        assert not asked

    def test_what_the_prompt_has_no_room_for_is_named(self, bob_mem0, settings):
        settings.LANGUAGE_PROVIDER = "fake"
        said = [{"role": "user", "content": f"Note {n}."} for n in range(41)]
        with script_answers({"facts": []}):
            notes = bob_mem0.add(said)["notes"]

        assert "the whole of messages.20;" in notes[0]

    def test_what_is_not_stored_is_said(self, bob_mem0):
        messages = [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello there.", "name": 7},
            {"role": "assistant", "content": None},
        ]

        answer = bob_mem0.add(messages, infer=False)

        assert [each["memory"] for each in answer["results"]] == ["Hello there."]
        assert [note.split(":")[0] for note in answer["notes"]] == [
            f"messages.{place}" for place in range(3)
        ]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({"messages": []}, "invalid"),
            ({"messages": [{"role": "user", "content": " "}]}, "invalid"),
            ({"messages": [{"role": "king", "content": "x"}]}, "invalid"),
            (
                {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
                "unsupported_option",
            ),
            ({"messages": SAID, "custom_instructions": "x"}, "unsupported_option"),
            ({"messages": SAID, "user": "ann"}, "unknown_field"),
            ({"messages": SAID, "filters": {"user_id": {"ne": "ann"}}}, "invalid"),
            (
                {"messages": SAID, "user_id": "a", "filters": {"user_id": "b"}},
                "invalid",
            ),
            ({"messages": SAID, "expiration_date": "soon"}, "invalid"),
            ({"messages": SAID, "user_id": ""}, "invalid"),
            ({"messages": SAID, "user_id": None}, "invalid"),
            ({"messages": SAID, "filters": {"user_id": ""}}, "invalid"),
            ({"messages": SAID, "timestamp": 10**30}, "invalid_number"),
            # In UTC these are in the years 0 and 10000, which no read can return.
            ({"messages": SAID, "timestamp": "0001-01-01T00:00:00+14:00"}, "invalid"),
            ({"messages": SAID, "timestamp": "9999-12-31T23:59:59-14:00"}, "invalid"),
        ],
    )
    def test_a_bad_body_is_refused_in_words(self, bob_mem0, body, code):
        answer = bob_mem0.call("post", "/v3/memories/add/", body, status=400)

        assert answer["code"] == code
        assert answer["errors"] or answer["detail"]
        assert not Memory.objects.exists()

    def test_a_secret_refuses_all_messages(self, bob_mem0, project):
        project.settings = {"secrets": "reject"}
        project.save()
        token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eFxQ2w"
        messages = [*SAID, {"role": "user", "content": f"It is {token}."}]

        assert bob_mem0.add(messages, infer=False, status=422)
        assert not Memory.objects.exists()

    def test_a_repeated_request_stores_once(self, bob_mem0):
        bob_mem0.api.defaults["HTTP_IDEMPOTENCY_KEY"] = "one"

        assert bob_mem0.add(SAID) == bob_mem0.add(SAID)
        assert Memory.objects.count() == 2


class TestTimes:
    def test_a_timestamp_is_when_it_was_created(self, bob_mem0):
        memory_id = bob_mem0.add_one("The gate closes at six.", timestamp=1_700_000_000)

        assert bob_mem0.get(memory_id)["created_at"] == "2023-11-14T22:13:20+00:00"

    def test_a_memory_lives_through_its_last_day(self, bob_mem0):
        memory_id = bob_mem0.add_one("It rains.", expiration_date="2999-01-31")

        assert bob_mem0.get(memory_id)["expiration_date"] == "2999-01-31"
        shown = bob_mem0.update(memory_id, expiration_date=None)
        assert shown["expiration_date"] is None


class TestSearchAndGetAll:
    @pytest.fixture(autouse=True)
    def _known(self, bob_mem0):
        self.gate = bob_mem0.add_one("The gate closes at six.", user_id="ann")
        self.food = bob_mem0.add_one("Ann eats no nuts.", user_id="ann")

    def test_the_best_comes_first_with_its_score(self, bob_mem0):
        found = bob_mem0.search("When does the gate close?", filters={"user_id": "ann"})

        first = found["results"][0]
        assert first["id"] == self.gate
        assert 0 < first["score"] <= 1

    def test_fields_and_top_k_make_the_answer_smaller(self, bob_mem0):
        options = {"fields": ["memory"], "top_k": 1, "threshold": 0}
        options |= {"show_expired": False, "latest_only": True}
        found = bob_mem0.search("gate", filters={"user_id": "ann"}, **options)

        assert found["results"] == [
            {"id": self.gate, "memory": "The gate closes at six."}
        ]

    def test_a_page_names_the_next_one(self, bob_mem0):
        page = bob_mem0.get_all(filters={"user_id": "ann"}, page_size=1)
        last = bob_mem0.get_all(filters={"user_id": "ann"}, page_size=1, page=2)

        assert [each["id"] for each in page["results"]] == [self.food]
        assert [each["id"] for each in last["results"]] == [self.gate]
        assert (page["count"], page["previous"], last["next"]) == (2, None, None)
        assert page["next"] == "http://testserver/v3/memories/?page=2&page_size=1"

    @pytest.mark.parametrize(
        "option",
        [
            {"user_id": "ann"},
            {"show_expired": True},
            {"latest_only": False},
            {"reference_date": "2026-01-01"},
            {"reference_date": 0},
        ],
    )
    def test_an_option_without_counterpart_is_refused(self, bob_mem0, option):
        answer = bob_mem0.search("gate", status=400, **option)

        assert answer["code"] == "unsupported_option"
        assert next(iter(option)) in answer["detail"]

    def test_what_a_ranking_could_not_do_is_said(self, bob_mem0, monkeypatch):
        def rank(*args, **options):
            return replace(rank_rows(*args, **options), notes=("by words only",))

        monkeypatch.setattr(find, "rank_rows", rank)

        assert "by words only" in bob_mem0.search("gate")["notes"]

    def test_that_nothing_is_ranked_twice_is_said(self, bob_mem0):
        assert bob_mem0.search("gate", rerank=True)["notes"]


class TestUpdateAndHistory:
    def test_a_change_stands_in_the_history(self, bob_mem0):
        memory_id = bob_mem0.add_one(
            "I live in Porto.", user_id="ann", metadata={"a": 1}
        )

        shown = bob_mem0.update(memory_id, text="Braga", metadata={"b": 2})
        bob_mem0.delete(memory_id)

        assert (shown["memory"], shown["metadata"]) == ("Braga", {"a": 1, "b": 2})
        told = [
            (each["event"], each["old_memory"], each["new_memory"])
            for each in bob_mem0.history(memory_id)
        ]
        assert told == [
            ("ADD", None, "I live in Porto."),
            ("UPDATE", "I live in Porto.", "Braga"),
            ("DELETE", "Braga", None),
        ]

    def test_an_empty_change_is_refused(self, bob_mem0):
        memory_id = bob_mem0.add_one("I live in Porto.")

        assert "text" in str(bob_mem0.update(memory_id, status=400)["errors"])


class TestDelete:
    def test_it_is_soft_and_happens_once(self, bob_mem0):
        memory_id = bob_mem0.add_one("I live in Porto.")

        assert bob_mem0.delete(memory_id)["message"]
        assert bob_mem0.delete(memory_id, status=404)["code"] == "not_found"
        assert bob_mem0.get(memory_id, status=404)["missing_ids"] == [memory_id]
        assert Memory.objects.get(pk=memory_id).deleted_at

    def test_too_many_are_not_deleted_with_it(self, bob_mem0, bob_api, monkeypatch):
        monkeypatch.setattr(remove, "MAX_OLDER", 0)
        old, new = bob_mem0.add_one("I live in Porto."), bob_mem0.add_one("In Braga.")
        bob_api.post(f"/api/v1/memories/{old}/supersede", {"by": new})

        assert bob_mem0.delete(new, status=400, delete_linked="true")["errors"]
        assert Memory.objects.filter(deleted_at=None).count() == 2

    @pytest.mark.parametrize(("linked", "left"), [("", 1), ("true", 0)])
    def test_what_it_replaced_goes_with_it_if_asked(
        self, bob_mem0, bob_api, linked, left
    ):
        old, new = bob_mem0.add_one("I live in Porto."), bob_mem0.add_one("In Braga.")
        bob_api.post(f"/api/v1/memories/{old}/supersede", {"by": new})

        bob_mem0.delete(new, **({"delete_linked": linked} if linked else {}))

        assert Memory.objects.filter(deleted_at=None).count() == left

    def test_an_id_that_is_none_is_not_found(self, bob_mem0):
        assert bob_mem0.get("mem_123", status=404)["code"] == "not_found"

    def test_a_viewer_only_reads(self, bob_mem0, mem0_of, project):
        memory_id = bob_mem0.add_one("I live in Porto.")
        viewer = mem0_of(project, role=Role.VIEWER)

        assert viewer.get(memory_id)["memory"] == "I live in Porto."
        assert viewer.search("Porto")["results"]
        assert viewer.get_all()["count"] == 1
        for refused in (
            viewer.add("More.", status=403),
            viewer.update(memory_id, text="Less.", status=403),
            viewer.delete(memory_id, status=403),
        ):
            assert refused["code"] == "forbidden"
