from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.errors import (
    BadAnswer,
    InferenceError,
    ProviderDown,
    RateLimitError,
    Usage,
)
from inference.language.chat_answer import read_chat
from inference.language.chat_pieces import ChatEnd, ChatText, FunctionCallPiece
from inference.language.event_stream import read_events

ANSWER = (
    ': ping\r\n\r\nevent: message\ndata: {"choices": [{"index": 0, "delta":'
    ' {"role": "assistant", "content": "Gr\\u00fc"}}]}\n\n'
    'data: {"choices": [{"index": 0, "delta": {"content": "ße 🙂"}}]}\r\n\r\n'
    'data:{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\r\r'
    'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\n'
    "data: [DONE]\n\n"
).encode()
CALLS = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1",'
    b' "function": {"name": "search", "arguments": ""}}]}}]}\n\n'
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0,'
    b' "function": {"arguments": "{\\"q\\":"}}]}}]}\n\n'
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0,'
    b' "function": {"arguments": "1}"}}]}, "finish_reason": "tool_calls"}]}\n\n'
)


def text_of(pieces):
    return "".join(each.text for each in pieces if isinstance(each, ChatText))


def bytes_of(content, size):
    return [content[at : at + size] for at in range(0, len(content), size)]


class TestEvents:
    def test_it_joins_the_lines_of_an_event(self):
        assert list(read_events([b"data: a\ndata:b\n\ndata\n\n"])) == ["a\nb", ""]

    def test_it_leaves_out_comments_and_other_fields(self):
        assert list(read_events([b": hi\nid: 3\nretry: 1\ndata: a\n\n"])) == ["a"]

    def test_a_last_event_needs_no_empty_line(self):
        assert list(read_events([b"data: a\n\ndata: [DONE]\n"])) == ["a", "[DONE]"]

    def test_half_a_line_is_no_event(self):
        assert list(read_events([b"data: a\n\ndata: b"])) == ["a"]

    def test_a_byte_order_mark_is_dropped(self):
        assert list(read_events([b"\xef\xbb", b"\xbfdata: a\n\n"])) == ["a"]

    @given(st.binary(max_size=80), st.integers(1, 9))
    def test_the_pieces_make_no_difference(self, content, size):
        whole = list(read_events([content]))

        assert list(read_events(bytes_of(content, size))) == whole

    @given(st.text("da: \n\rx", max_size=60), st.integers(1, 5))
    def test_the_ends_of_lines_may_be_in_two_pieces(self, text, size):
        content = ("data: " + text + "\n\n").encode()

        whole = list(read_events([content]))

        assert list(read_events(bytes_of(content, size))) == whole


class TestAnswers:
    def test_it_reads_an_answer_that_is_split_at_any_byte(self):
        for at in range(1, len(ANSWER)):
            pieces = list(read_chat([ANSWER[:at], ANSWER[at:]]))

            assert text_of(pieces) == "Grüße 🙂"
            assert pieces[-1] == ChatEnd("stop", Usage(7, 3))

    def test_it_reads_one_byte_after_the_other(self):
        pieces = list(read_chat(bytes_of(ANSWER, 1)))

        assert text_of(pieces) == "Grüße 🙂"

    @pytest.mark.parametrize("size", [1, 7, 1000])
    def test_it_reads_calls(self, size):
        pieces = list(read_chat(bytes_of(CALLS, size)))

        assert pieces == [
            FunctionCallPiece(0, "c1", "search"),
            FunctionCallPiece(0, arguments='{"q":'),
            FunctionCallPiece(0, arguments="1}"),
            ChatEnd("tool_calls"),
        ]

    def test_it_reads_the_answer_of_a_server_that_does_not_stream(self):
        content = (
            b'\n {"choices": [{"message": {"content": "hi", "tool_calls": [{"id": "a",'
            b' "function": {"name": "f", "arguments": {"x": 1}}}]},'
            b' "finish_reason": "tool_calls"}],'
            b' "usage": {"prompt_tokens": 1, "completion_tokens": 2}}'
        )

        assert list(read_chat(bytes_of(content, 5))) == [
            ChatText("hi"),
            FunctionCallPiece(0, "a", "f", '{"x": 1}'),
            ChatEnd("tool_calls", Usage(1, 2)),
        ]

    def test_done_is_not_needed_after_a_reason_to_finish(self):
        content = ANSWER.replace(b"data: [DONE]\n\n", b"")

        assert text_of(read_chat([content])) == "Grüße 🙂"

    def test_a_reason_to_finish_is_not_needed_before_done(self):
        content = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: [DONE]\n'

        assert list(read_chat([content])) == [ChatText("a"), ChatEnd()]

    def test_half_an_answer_is_no_answer(self):
        for at in range(ANSWER.index(b'"finish_reason"')):
            with pytest.raises((ProviderDown, BadAnswer)):
                list(read_chat([ANSWER[:at]]))

    def test_an_answer_that_ends_after_a_piece_is_a_failure_of_the_server(self):
        with pytest.raises(ProviderDown, match="before it was complete"):
            list(read_chat([ANSWER[:180]]))

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"   ",
            b"<html>Bad gateway</html>",
            b"data: nothing\n\n",
            b"data: [1]\n\n",
            b"data: [DONE]\n\n",
            b'{"choices": []}',
            b'{"choices": [{"mess',
            b'{"a": ' * 5000,
            b'data: {"choices": [{"delta": {"tool_calls": [{"index": -1}]}}]}\n\n',
            b'data: {"choices": [{"delta": {"tool_calls": [{"index": 999}]}}]}\n\n',
        ],
    )
    def test_garbage_is_a_bad_answer(self, content):
        with pytest.raises(BadAnswer):
            list(read_chat([content]))

    def test_a_declined_answer_is_not_asked_for_again(self):
        content = (
            b'data: {"choices": [{"delta": {}, "finish_reason": "content_filter"}]}\n\n'
        )

        with pytest.raises(BadAnswer) as caught:
            list(read_chat([content]))

        assert caught.value.retryable is False

    def test_an_error_between_the_pieces_is_raised_without_the_key(self):
        content = b'data: {"error": {"message": "bad key sk-1", "code": 500}}\n\n'

        with pytest.raises(ProviderDown) as caught:
            list(read_chat([content], key="sk-1"))

        assert "bad key [key]" in caught.value.detail

    def test_an_error_without_a_member_of_its_own_is_raised(self):
        content = b'data: {"object": "error", "message": "out of memory"}\n\n'

        with pytest.raises(ProviderDown, match="out of memory"):
            list(read_chat([content]))

    def test_an_error_of_too_many_requests_is_known(self):
        with pytest.raises(RateLimitError):
            list(read_chat([b'data: {"error": {"message": "slow", "code": 429}}\n\n']))

    @given(st.lists(st.binary(max_size=30), max_size=8))
    def test_no_bytes_raise_anything_else(self, chunks):
        try:
            list(read_chat(chunks))
        except InferenceError:
            pass

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=4),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "choices",
                            "delta",
                            "message",
                            "content",
                            "tool_calls",
                            "function",
                            "index",
                            "id",
                            "name",
                            "arguments",
                            "usage",
                            "error",
                            "code",
                            "finish_reason",
                        ]
                    ),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        )
    )
    def test_no_json_raises_anything_else(self, value):
        content = f"data: {json.dumps({'choices': [value], 'x': value})}\n\n".encode()
        try:
            list(read_chat([content]))
        except InferenceError:
            pass
