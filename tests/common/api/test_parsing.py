from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import errors
from common.api import parsing
from common.api.problem import UnsupportedMediaType


def refused(raw):
    with pytest.raises(errors.Refusal) as caught:
        parsing.parse_object(raw)
    return caught.value


class TestParse:
    def test_it_reads_an_object(self):
        raw = '{"a": [1, 2.5, "ü", null, true, {"b": ""}]}'.encode()

        assert parsing.parse_object(raw) == json.loads(raw)

    def test_it_takes_a_byte_order_mark(self):
        assert parsing.parse_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}

    @pytest.mark.parametrize("raw", [b"", b"{", b"{'a': 1}", b'{"a": 1} x', b"\x00"])
    def test_it_names_the_place_of_bad_json(self, raw):
        refusal = refused(raw)

        assert refusal.code == "invalid_json"
        assert "line 1, column" in refusal.detail

    @pytest.mark.parametrize("raw", [b"[]", b"1", b'"a"', b"null"])
    def test_it_takes_objects_only(self, raw):
        assert refused(raw).errors == {"body": ["The body must be a JSON object."]}

    @pytest.mark.parametrize("raw", [b'{"a": "\xff"}', '{"a": 1}'.encode("utf-16")])
    def test_it_takes_utf8_only(self, raw):
        assert refused(raw).code == "invalid_text"

    @pytest.mark.parametrize(
        ("raw", "place"),
        [
            (rb'{"a": {"b": [0, "x\u0000y"]}}', "a.b.1"),
            (rb'{"a": "\ud800"}', "a"),
            (rb'{"a": [{"k\u0000": 1}]}', "a.0.(a key)"),
            (rb'{"\udfff": 1}', "(a key)"),
        ],
    )
    def test_it_replaces_bad_text_and_names_the_place(self, raw, place):
        body = parsing.parse_object(raw)
        storable = parsing.make_storable(body)

        assert storable.replaced == (place,)
        assert parsing.BAD_ESCAPE.search(raw)
        json.dumps(storable.value, ensure_ascii=False).encode()

    def test_a_replaced_text_keeps_its_length(self):
        body = {"a": "x\x00y\ud800\udfffz", "b": "whole"}

        assert parsing.make_storable(body).value == {
            "a": "x\ufffdy\ufffd\ufffdz",
            "b": "whole",
        }

    def test_two_keys_that_become_the_same_are_refused(self):
        with pytest.raises(parsing.InvalidText):
            parsing.make_storable({"a": [{"k\x00": 1, "k\ufffd": 2}]})

    @given(
        st.recursive(
            st.none() | st.text(st.characters(), max_size=3) | st.just("\ud800\x00"),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            ),
        )
    )
    def test_any_body_becomes_storable(self, value):
        raw = json.dumps({"a": value}).encode()
        try:
            storable = parsing.make_storable(parsing.parse_object(raw))
        except parsing.InvalidText:
            return
        text = json.dumps(storable.value, ensure_ascii=False)

        assert "\x00" not in text
        assert bool(storable.replaced) == (storable.value != parsing.parse_object(raw))
        assert not storable.replaced or parsing.BAD_ESCAPE.search(raw)

    def test_whole_pairs_of_surrogates_are_text(self):
        assert parsing.parse_object(rb'{"a": "\ud83d\ude00"}') == {"a": "😀"}

    @pytest.mark.parametrize(
        "number",
        ["NaN", "Infinity", "-Infinity", "1e999", str(2**63), "-" + "9" * 5_000],
    )
    def test_it_refuses_numbers_that_do_not_fit(self, number):
        assert refused(f'{{"a": [{number}]}}'.encode()).code == "invalid_number"

    @pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 1e308, 0])
    def test_it_takes_64_bit_numbers(self, number):
        assert parsing.parse_object(json.dumps({"a": number}).encode()) == {"a": number}

    @pytest.mark.parametrize("depth", [64, 10_000, 1_000_000])
    @pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
    def test_it_refuses_deep_nesting(self, depth, opening, closing):
        raw = b'{"a":' + opening.encode() * depth + b"1" + closing.encode() * depth

        assert refused(raw + b"}").code == "too_deep"

    def test_it_takes_nesting_up_to_the_limit(self):
        raw = b'{"a":' + b"[" * 63 + b"]" * 63 + b"}"

        assert parsing.parse_object(raw)

    @given(st.binary(max_size=60))
    def test_any_bytes_are_read_or_refused(self, raw):
        try:
            parsing.parse_object(raw)
        except errors.Refusal as refusal:
            assert refusal.status == 400


@pytest.mark.parametrize("given_type", ["", "; charset=utf-8", '; charset="UTF-8"'])
def test_utf8_may_be_named(given_type):
    parsing.refuse_charset("application/json" + given_type)


def test_another_charset_is_refused():
    with pytest.raises(UnsupportedMediaType):
        parsing.refuse_charset("application/json; charset=latin-1")
