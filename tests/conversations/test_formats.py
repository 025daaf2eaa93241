"""Messages go through each of the three formats and come back with all it can say."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.formats import convert
from conversations.formats.message import ChatMessage, MalformedMessage, content_text

TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20
)
WORDS = TEXT.filter(bool)
NAME = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
CALL_ID = st.from_regex(r"c[0-9]{1,3}", fullmatch=True)
SCALAR = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT
JSON = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=3)
URL = st.just("https://example.org/a.png") | st.just("")

# The product's own parts
text_part = st.builds(lambda text: {"type": "text", "text": text}, WORDS)
thinking = st.builds(lambda text: {"type": "thinking", "text": text}, TEXT)
call = st.builds(
    lambda pk, name, arguments: {
        "type": "tool_call",
        "id": pk,
        "name": name,
        "arguments": arguments,
    },
    CALL_ID,
    NAME,
    ARGUMENTS,
)
attachment = st.builds(
    lambda name, url: {
        "type": "attachment",
        "media_type": "image/png",
        "name": name,
        "url": url,
    },
    TEXT,
    URL,
)
result = st.builds(
    lambda pk, name, content, is_error: {
        "type": "tool_result",
        "id": pk,
        "name": name,
        "content": content,
        "is_error": is_error,
    },
    CALL_ID,
    NAME | st.just(""),
    TEXT | st.lists(text_part | attachment, max_size=2),
    st.booleans(),
)
message = st.builds(
    lambda role, parts: {"role": role, "parts": parts},
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(text_part | thinking | call | attachment | result, max_size=4),
)

# OpenAI's and Anthropic's messages as their servers take them
openai_text = st.builds(lambda text: {"type": "text", "text": text}, WORDS)
openai_image = st.just(
    {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}
)
openai_call = st.builds(
    lambda pk, name, arguments: {
        "id": pk,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    },
    CALL_ID,
    NAME,
    ARGUMENTS,
)
openai_message = st.one_of(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["system", "developer", "user"]),
        WORDS | st.lists(openai_text | openai_image, min_size=1, max_size=3),
    ),
    st.builds(
        lambda content, calls: (
            {"role": "assistant", "content": content}
            | ({"tool_calls": calls} if calls else {})
        ),
        WORDS | st.none(),
        st.lists(openai_call, max_size=2),
    ),
    st.builds(
        lambda pk, content: {"role": "tool", "tool_call_id": pk, "content": content},
        CALL_ID,
        TEXT,
    ),
)
block_text = st.builds(lambda text: {"type": "text", "text": text}, WORDS)
block_call = st.builds(
    lambda pk, name, arguments: {
        "type": "tool_use",
        "id": pk,
        "name": name,
        "input": arguments,
    },
    CALL_ID,
    NAME,
    ARGUMENTS,
)
block_thinking = st.builds(
    lambda text, signature: {
        "type": "thinking",
        "thinking": text,
        "signature": signature,
    },
    TEXT,
    WORDS,
)
block_result = st.builds(
    lambda pk, content, error: {
        "type": "tool_result",
        "tool_use_id": pk,
        "content": content,
        **error,
    },
    CALL_ID,
    TEXT | st.lists(block_text, max_size=2),
    st.just({}) | st.just({"is_error": True}),
)
anthropic_message = st.builds(
    lambda own, others, role: {"role": role, "content": [own, *others]},
    block_call | block_thinking | block_result,
    st.lists(block_text | block_call | block_thinking | block_result, max_size=3),
    st.sampled_from(["user", "assistant"]),
)


def said(messages: list[ChatMessage]):
    """What every format can say: words, calls, and the text of results, in this order."""
    parts = [part for each in messages for part in each.parts]
    return {
        "words": "".join(p["text"] for p in parts if p["type"] == "text"),
        "calls": [
            (p["id"], p["name"], p["arguments"])
            for p in parts
            if p["type"] == "tool_call"
        ],
        "results": [
            (p["id"], content_text(p["content"]))
            for p in parts
            if p["type"] == "tool_result"
        ],
    }


def without_attachments(value):
    def kept(parts):
        return [part for part in parts if part["type"] != "attachment"]

    parts = kept(value["parts"])
    for part in parts:
        if part["type"] == "tool_result" and isinstance(part["content"], list):
            part["content"] = kept(part["content"])
    return value | {"parts": parts}


@given(st.lists(message, max_size=4))
def test_own_messages_come_back_as_they_were(values):
    read = convert.read_messages(json.loads(json.dumps(values)))

    again = [{"role": each.role, "parts": list(each.parts)} for each in read]
    named = convert.read_messages(again)
    assert [each.parts for each in read] == [each.parts for each in named]
    for value, each in zip(values, read, strict=True):
        assert each.role == value["role"]
        for sent, part in zip(value["parts"], each.parts, strict=True):
            assert part | {"name": ""} == sent | {"name": ""}


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@given(values=st.lists(message.map(without_attachments), max_size=4))
def test_own_messages_say_the_same_in_every_format(name, values):
    read = convert.read_messages(values)

    written = json.loads(json.dumps(convert.write_messages(read, name)))

    assert said(convert.read_messages(written)) == said(read)


@given(st.lists(message, max_size=4))
def test_attachments_become_a_link_or_their_name(values):
    read = convert.read_messages(values)
    attached = [p for each in read for p in each.parts if p["type"] == "attachment"]
    for name in ("openai", "anthropic"):
        written = json.dumps(convert.write_messages(read, name))
        for part in attached:
            shown = part["url"] or part["name"] or part["media_type"]
            assert json.dumps(shown)[1:-1] in written


@given(st.lists(openai_message, max_size=4))
def test_messages_of_openai_come_back_word_for_word(values):
    read = convert.read_messages(values)

    assert convert.write_messages(read, "openai") == values


@given(st.lists(anthropic_message, max_size=4))
def test_messages_of_anthropic_come_back_word_for_word(values):
    read = convert.read_messages(values)

    assert convert.write_messages(read, "anthropic") == values


@given(st.lists(openai_message, max_size=4))
def test_messages_of_openai_go_through_anthropic(values):
    read = convert.read_messages(values)

    there = convert.write_messages(read, "anthropic")
    back = convert.write_messages(convert.read_messages(there), "openai")

    assert said(convert.read_messages(back)) == said(read)


@given(st.lists(anthropic_message, max_size=4))
def test_messages_of_anthropic_go_through_openai(values):
    read = convert.read_messages(values)

    there = convert.write_messages(read, "openai")
    back = convert.write_messages(convert.read_messages(there), "anthropic")

    assert said(convert.read_messages(back)) == said(read)


KEYS = st.sampled_from(
    [
        "role",
        "content",
        "parts",
        "type",
        "text",
        "thinking",
        "id",
        "name",
        "arguments",
        "tool_calls",
        "function",
        "tool_call_id",
        "tool_use_id",
        "input",
        "source",
        "url",
        "is_error",
        "image_url",
        "media_type",
    ]
)
VALUES = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "thinking",
        "tool_call",
        "tool_result",
        "tool_use",
        "attachment",
        "image",
        "document",
        "zebra",
    ]
)
GARBAGE = st.recursive(
    SCALAR | VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | TEXT, inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.lists(GARBAGE, max_size=3))
def test_any_json_is_read_or_refused_with_its_path(values):
    try:
        read = convert.read_messages(values)
    except MalformedMessage as error:
        assert error.path.split(".")[0].isdigit()
        return
    for name in ("openai", "anthropic"):
        json.dumps(convert.write_messages(read, name))


@pytest.mark.django_db
@settings(suppress_health_check=[*HealthCheck])
@given(st.lists(GARBAGE, min_size=1, max_size=3))
def test_the_api_never_fails_on_any_message(session_api, values):
    session_api.bootstrap()
    answer = session_api.post("sessions/main/messages", messages=values)

    assert answer.status_code in (200, 400, 413, 422), answer.content
    if answer.status_code != 200:
        assert answer.json()["code"]
        return
    for name in ("messages", "openai", "anthropic"):
        read = session_api.get("sessions/main/messages", format=name, limit=1_000)
        assert read.status_code == 200
        assert session_api.assemble(format=name)
