"""A NUL character or a lone surrogate in a body becomes U+FFFD, and the answer says so."""

from __future__ import annotations

import json

import pytest

from ace.models import AceRun
from common.caller import Role
from memories.models import Memory
from playbook.models import PlaybookDelta, PlaybookEntry

pytestmark = pytest.mark.django_db
V1 = "/api/v1"
BAD, GOOD = "a\x00b\ud800c", "a\ufffdb\ufffdc"


@pytest.fixture
def api(client_of, project):
    client = client_of(project, role=Role.OWNER)
    client.raise_request_exception = False
    return client


@pytest.fixture
def named(project):
    return {"project_id": str(project.pk)}


def send(api, path, body, method="POST", **headers):
    """Send a body as Python's JSON writes it: with escapes for each bad character."""
    text = json.dumps(body).encode()
    kind = "application/json"
    return api.generic(method, f"{V1}/{path}", text, kind, **headers)


def notes_of(answer):
    return [note for note in answer.json()["notes"] if "U+FFFD" in note]


class TestTask:
    TASK = {
        "goal": f"Run the tests of {BAD}",
        "result": "Fixed",
        "feedback": f"ModuleNotFoundError: No module named 'harbour' {BAD}",
        "tool_usage": [
            {
                "tool_name": "shell",
                "arguments": {"command": f"pytest {BAD}"},
                "result": f"{BAD} ModuleNotFoundError: No module named 'harbour'",
            }
        ],
    }

    def test_it_is_stored_with_a_note_for_each_field(self, api, named):
        answer = send(api, "complete-task", named | self.TASK)

        assert answer.status_code == 200, answer.json()
        fields = [note.partition("`:")[0].strip("`") for note in notes_of(answer)]
        assert fields == [
            "goal",
            "feedback",
            "tool_usage.0.arguments.command",
            "tool_usage.0.result",
        ]
        memory = Memory.objects.get(pk=answer.json()["memory_id"])
        assert memory.goal == f"Run the tests of {GOOD}"
        assert memory.tool_usage[0]["arguments"]["command"] == f"pytest {GOOD}"

    def test_every_quote_is_still_cut_from_its_field(self, api, named):
        answer = send(api, "complete-task", named | self.TASK).json()
        run = AceRun.objects.get(pk=answer["run_id"])
        texts = {
            "feedback": run.request["feedback"],
            "tool_usage.0.result": run.request["tool_usage"][0]["result"],
        }
        quotes = [each for error in answer["errors"] for each in error["evidence"]]

        assert quotes
        for quote in quotes:
            text = texts[quote["field"]]
            assert text[quote["start"] : quote["end"]] == quote["quote"]

    def test_a_repeated_request_is_the_same_only_if_sent_the_same(self, api, named):
        keyed = {"headers": {"Idempotency-Key": "once"}}
        first = send(api, "complete-task", named | self.TASK, **keyed)
        again = send(api, "complete-task", named | self.TASK, **keyed)
        replaced = json.loads(json.dumps(self.TASK).replace("\\u0000", "\\ufffd"))
        other = send(api, "complete-task", named | replaced, **keyed)

        assert first.json()["run_id"] == again.json()["run_id"]
        assert notes_of(first) == notes_of(again) != []
        assert other.json()["code"] == "idempotency_mismatch"

    def test_very_many_replaced_texts_are_counted(self, api, named):
        calls = [{"tool_name": "shell", "result": BAD} for _ in range(400)]
        answer = send(
            api, "complete-task", named | {"goal": "Look around", "tool_usage": calls}
        )

        notes = notes_of(answer)
        assert len(notes) == 21
        assert notes[-1].startswith("380 more texts")


def test_each_item_of_a_batch_has_its_own_note(api, named):
    items = [
        {"content": f"The crane {n} is oiled {bad}", "memory_type": "learning"}
        for n, bad in enumerate(["on Mondays", BAD, "each week"])
    ]
    answer = send(api, "memories/batch", named | {"memories": items})
    results = answer.json()["results"]

    assert [len(result["notes"]) for result in results] == [0, 1, 0]
    assert results[1]["notes"][0].startswith("`content`")
    assert results[1]["memory"]["content"] == f"The crane 1 is oiled {GOOD}"


def test_an_entry_and_a_delta_are_stored_with_a_note(api, named):
    text = f"Oil the crane with `oil {BAD}` each Monday"
    entry = {"content": text, "category": "gotchas", "reason": BAD}
    written = send(api, "playbook/rules", named | entry)
    update = {
        "operation": "add",
        "content": f"{text} and Friday",
        "category": "gotchas",
    }
    proposed = send(api, "proposals", named | update | {"reason": BAD})

    assert (written.status_code, proposed.status_code) == (201, 201)
    assert len(notes_of(written)) == len(notes_of(proposed)) == 2
    assert PlaybookEntry.objects.get().content.count("\ufffd") == 2
    assert PlaybookDelta.objects.get(pk=proposed.json()["id"]).reason == GOOD


def test_settings_and_a_digest_configuration_are_stored_with_a_note(
    api, named, project
):
    phrases = {"lasting_phrases": [BAD]}
    answer = send(api, f"projects/{project.pk}/settings", phrases, "PATCH")
    config = {"structured": {"tags": [BAD]}}
    put = send(api, "context/digest-config", named | {"config": config}, "PUT")

    assert notes_of(answer) and notes_of(put)
    project.refresh_from_db()
    assert project.settings["lasting_phrases"] == [GOOD]
    assert put.json()["config"]["structured"]["tags"] == [GOOD]


def test_a_playbook_is_imported_with_a_note(api, named):
    answer = send(
        api, "playbook/import", named | {"content": f"[new-00001] Oil {BAD}."}
    )

    assert answer.status_code == 201, answer.json()
    assert PlaybookDelta.objects.get().content == f"Oil {GOOD}."
    assert notes_of(answer)


def test_a_search_goes_on_with_a_note(api, named):
    answer = send(api, "search", named | {"query": f"crane {BAD}"})

    assert answer.status_code == 200
    assert notes_of(answer)


def test_nothing_is_noted_where_nothing_was_replaced(api, named):
    body = {"content": "A backslash: \\u0000 and \\ud800", "memory_type": "learning"}
    answer = send(api, "memories", named | body)

    assert answer.json()["notes"] == []
    assert answer.json()["memory"]["content"] == body["content"]
