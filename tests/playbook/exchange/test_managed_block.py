from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook.exchange import managed_block
from playbook.exchange.managed_block import BEGIN, END, BrokenMarkers, NoBlock, NotUtf8

OLD = managed_block.block("\n- [a-00001] Do `x`.\n")
NEW = managed_block.block("\n- [a-00001] Do `y`.\n- [a-00002] Do `z`.\n")
BYTES = st.one_of(
    st.binary(),
    st.lists(
        st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"\xff", b" "])
    ).map(b"".join),
).filter(lambda found: not found.startswith((b"\xff\xfe", b"\xfe\xff")))


class TestPutting:
    @given(BYTES)
    def test_a_new_block_follows_every_byte_there_was(self, document):
        put = managed_block.insert_block(document, OLD)

        assert put.startswith(document)
        assert managed_block.insert_block(put, OLD) == put

    @given(BYTES, BYTES)
    def test_every_byte_around_the_block_survives(self, above, below):
        put = managed_block.insert_block(above, OLD)
        start, end = put.index(BEGIN.encode()), put.index(END.encode()) + len(END)
        below = below if below[:1] in (b"\n", b"\r") else b"\n" + below

        again = managed_block.insert_block(put[:end] + below, NEW)

        assert again.startswith(put[:start])
        assert again.endswith(below)

    @pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
    def test_it_takes_the_line_ends_of_the_file(self, ending):
        document = f"# Team{ending}{ending}Rules:{ending}".encode()

        put = managed_block.insert_block(document, OLD)

        assert (
            put
            == document + ending.encode() + ending.join([*OLD.split("\n"), ""]).encode()
        )

    def test_a_byte_order_mark_stays_first(self):
        put = managed_block.insert_block(b"\xef\xbb\xbf", OLD)

        assert put == b"\xef\xbb\xbf" + OLD.encode() + b"\n"
        assert managed_block.insert_block(put, OLD) == put

    def test_a_missing_newline_at_the_end_stays_missing(self):
        document = b"# Team\n\n" + OLD.encode()

        assert managed_block.insert_block(document, NEW) == b"# Team\n\n" + NEW.encode()

    def test_a_marker_inside_a_line_is_none(self):
        document = f"We write `{BEGIN}` and `{END}`.\n".encode()

        assert managed_block.insert_block(document, OLD).startswith(document)


class TestRefusing:
    @pytest.mark.parametrize(
        "document",
        [
            f"{BEGIN}\n",
            f"x\n{END}\n",
            f"{END}\n{BEGIN}\n",
            f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
            f"{BEGIN}\n{BEGIN}\n{END}\n",
        ],
    )
    def test_broken_or_doubled_markers(self, document):
        with pytest.raises(BrokenMarkers):
            managed_block.insert_block(document.encode(), OLD)

    def test_it_names_the_lines(self):
        with pytest.raises(BrokenMarkers) as refused:
            managed_block.insert_block(f"x\r\n{BEGIN}\r\n{BEGIN}\r\n".encode(), OLD)

        assert "line 2, 3, end on line none" in refused.value.detail

    def test_utf_16(self):
        with pytest.raises(NotUtf8):
            managed_block.insert_block("Regeln".encode("utf-16"), OLD)


class TestContent:
    def test_rules_keep_the_line_numbers_of_the_file(self):
        document = managed_block.insert_block(b"# Team\r\n", OLD).decode()

        inside = managed_block.read_rules(document)

        assert inside.split("\n")[5] == "- [a-00001] Do `x`."
        assert inside.strip() == "- [a-00001] Do `x`."

    def test_a_text_without_a_block_is_refused(self):
        with pytest.raises(NoBlock):
            managed_block.read_rules("# Team\n")
