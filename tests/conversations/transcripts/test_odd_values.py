"""Values that no harness writes: none is fatal, and none is stored that cannot be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from common.text.storable_json import find_unstorable
from conversations.messages import receive_transcript
from conversations.transcripts.events import TranscriptCounts
from conversations.transcripts.fields import moment_of, moment_of_milliseconds
from conversations.transcripts.line_source import is_json
from conversations.transcripts.reader import MAX_FIELD, read_messages
from tests.conversations.transcripts.test_claude_code import line


def output_of_codex(output):
    return {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c1", "output": output},
    }


def read(lines, name="claude-code"):
    return list(read_messages(name, map(json.dumps, lines)))


class TestTimes:
    @pytest.mark.parametrize(
        "text",
        [
            "9999-12-31T23:59:59-14:00",
            "0001-01-01T00:00:00+14:00",
            "1969-12-31T23:59:59Z",
            "2999-01-01T00:00:00Z",
            "2026-01-05T13:00:00",
        ],
    )
    def test_one_that_no_clock_tells_is_none(self, text):
        assert moment_of({"timestamp": text}) is None

    @pytest.mark.parametrize("number", [-1, 10**14, 10**400, 1e300, True, "1", None])
    def test_a_number_that_no_clock_tells_is_none(self, number):
        assert moment_of_milliseconds(number) is None

    def test_one_with_a_zone_is_the_same_moment(self):
        moment = datetime(2026, 1, 5, 12, tzinfo=UTC)

        assert moment_of({"timestamp": "2026-01-05T13:00:00+01:00"}) == moment
        assert moment_of_milliseconds(moment.timestamp() * 1000) == moment

    def test_a_clock_may_be_a_day_ahead(self):
        near = timezone.now() + timedelta(hours=23)

        assert moment_of({"timestamp": near.isoformat()}) == near
        assert moment_of({"timestamp": (near + timedelta(hours=2)).isoformat()}) is None


class TestTextsBesideTheWords:
    def test_they_are_cut_because_each_message_has_a_copy(self):
        lines = [line(0, "user", "Hi"), line(1, "assistant", "Hello")]
        lines[0] |= {"cwd": "/" * 9_000, "gitBranch": "b" * 9_000}
        lines[1]["message"]["model"] = "m" * 9_000

        first, second = read(lines)

        assert max(map(len, first.metadata["transcript"].values())) == MAX_FIELD
        assert second.metadata["transcript"]["model"] == "m" * MAX_FIELD

    @pytest.mark.parametrize("value", ["x" * 256, ["x"], {"x": 1}, 7, False, None])
    def test_a_field_that_is_no_short_text_and_no_mark_is_left_out(self, value):
        (message,) = read([line(0, "user", "Hi", requestId=value)])

        assert "request_id" not in message.metadata["transcript"]

    def test_they_count_for_the_size_of_a_transaction(self, monkeypatch):
        monkeypatch.setattr(receive_transcript, "MAX_BATCH", 10_000)
        messages = read([line(n, "user", "Hi", cwd="/" * 4_000) for n in range(9)])

        sizes = [len(each.messages) for each in receive_transcript._batches(messages)]

        assert sizes == [3, 3, 3]


@pytest.mark.parametrize("words", ["a\0b", "a \ud83d"], ids=["NUL", "half a surrogate"])
def test_json_within_a_text_of_codex_can_be_stored(words):
    output = json.dumps({"output": words, "metadata": {"exit_code": 1}})

    (message,) = read([output_of_codex(output)], "codex")

    (part,) = message.parts
    assert part["content"].count("\ufffd") == 1
    assert find_unstorable(list(message.parts)) is None
    assert part["is_error"]


def test_a_line_of_too_many_objects_is_not_parsed(monkeypatch):
    counts = TranscriptCounts()
    lines = [json.dumps(line(0, "user", "Hi")), "[" + "{}," * 200_000 + "{}]"]

    messages = list(read_messages("claude-code", lines, counts))

    assert [message.text for message in messages] == ["Hi"]
    assert counts.left_out == {"more than 200,000 objects and lists": 1}
    assert not is_json(lines[1].encode())
