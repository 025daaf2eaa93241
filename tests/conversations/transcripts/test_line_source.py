"""The lines of a file are read as far as they are whole."""

from __future__ import annotations

import io
import json

import pytest

from conversations.transcripts import line_source
from conversations.transcripts.events import TranscriptCounts
from conversations.transcripts.line_source import LineSource


def read(raw, *, may_be_document=False):
    counts = TranscriptCounts()
    source = LineSource(io.BytesIO(raw), counts, may_be_document=may_be_document)
    return list(source), source, counts


def test_each_line_is_read_and_counted_in_bytes():
    lines, source, _ = read(b'{"a": 1}\n\n{"b": 2}\n')

    assert lines == [b'{"a": 1}\n', b'{"b": 2}\n']
    assert (source.consumed, source.is_whole) == (19, True)


def test_a_last_line_that_is_not_whole_waits():
    lines, source, counts = read(b'{"a": 1}\n{"b": ')

    assert lines == [b'{"a": 1}\n']
    assert (source.consumed, source.is_whole) == (9, False)
    assert not counts.left_out


def test_a_last_line_that_is_whole_needs_no_line_feed():
    lines, source, _ = read(b'{"a": 1}\n{"b": 2}')

    assert len(lines) == 2
    assert source.consumed == 17


def test_a_line_that_is_too_long_is_skipped(monkeypatch):
    monkeypatch.setattr(line_source, "MAX_LINE", 10)

    lines, source, counts = read(b'"' + b"x" * 35 + b'"\n{"b": 2}\n')

    assert lines == [b'{"b": 2}\n']
    assert counts.left_out == {"longer than 10 bytes": 1}
    assert source.consumed == 47


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_one_line(indent):
    raw = json.dumps({"messages": [1, 2]}, indent=indent).encode()

    lines, source, _ = read(raw, may_be_document=True)

    assert lines == [raw]
    assert source.consumed == len(raw)


def test_a_document_that_is_not_whole_waits():
    raw = json.dumps({"messages": [1, 2]}, indent=2).encode()[:-3]

    lines, source, counts = read(raw, may_be_document=True)

    assert (lines, source.consumed, source.is_whole) == ([], 0, False)
    assert counts.left_out == {"not JSON": 1}
