# ruff: noqa: RUF001  # letters of many scripts are what these tests are about
from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import tokenise

# Each row has spellings of one text, which a search must not tell apart.
EQUAL = [
    ("déploiement échoué", "deploiement echoue", "DÉPLOIEMENT ÉCHOUÉ"),
    ("nœud", "noeud"),
    ("Straße", "strasse", "STRASSE", "STRAẞE"),
    ("Łódź smørbrød", "lodz smorbrod"),
    ("Åland vår þing", "aland var thing"),
    ("cơ sở dữ liệu Đà Nẵng", "co so du lieu da nang"),
    ("ISPARTA İZMİR ılık", "isparta izmir ilik"),
    ("Ángel niño", "angel nino"),
    ("Yorùbá ẹ̀kọ́", "yoruba eko"),
    ("ещё всё", "еще все"),
    ("Ґанок", "ганок"),
    ("αντίγραφο", "ΑΝΤΙΓΡΑΦΟ"),
    ("أحمد إلى آخر", "احمد الي اخر"),
    ("مُرُورِ الـــنسخة", "مرور النسخه"),
    ("کتاب", "كتاب"),
    ("می\u200cخواهم", "میخواهم"),
    ("תִּקּוּן", "תיקון", "תקון"),
    ("ज़रूरी", "जरूरी"),
    ("soft\u00adware up\u200bdate", "software update"),
    ("ﾃﾞｰﾀﾍﾞｰｽ", "データベース"),
    ("ＡＢＣ１２３", "abc123"),
    ("oﬃce ﬁle", "office file"),
    ("٣٥ ۴۷", "35 ۴٧"),
    ("葛\U000e0100城", "葛城"),
    ("team’s", "team's", "teamʼs"),
    ("ชำระ", "ช\u0e4d\u0e32ระ"),
]
# A word of each script, with the marks that are its vowels.
SCRIPTS = [
    "हिन्दी",
    "தமிழ்",
    "తెలుగు",
    "മലയാളം",
    "ಕನ್ನಡ",
    "বাংলা",
    "ગુજરાતી",
    "ਪੰਜਾਬੀ",
    "සිංහල",
    "አማርኛ",
    "ქართული",
    "հայերեն",
    "ދިވެހި",
    "ߒߞߏ",
    "𞤢𞤣𞤤𞤢𞤥",
    "𑄌𑄋𑄴𑄟",
]


class TestIndexText:
    @pytest.mark.parametrize(
        ("text", "cut"),
        [
            ("getUserName", "get user name getusername"),
            ("HTTPServer", "http server httpserver"),
            ("page_index", "page index"),
            ("src/auth.py:42", "src auth py 42"),
            ("List<String>", "list string"),
            ("E1101", "e1101"),
            ("version 1.2.3, of 3.14.", "version 1.2.3 of 3.14"),
            ("time-sharing", "time-sharing"),
            ("-5 or --force", "5 or force"),
            ("\uff46\uff55ll", "full"),
            ("日本語", "日本 本語 語"),
            ("東", "東"),
            ("実行test", "実行 行 test"),
            ("서버는", "서버 버는 는"),
            ("เงิน", "เงิ งิน น"),
        ],
    )
    def test_it_cuts_code_at_its_joints(self, text, cut):
        assert tokenise.index_text(text).exact.split() == cut.split()

    @pytest.mark.parametrize("spellings", EQUAL)
    def test_it_folds_the_spellings_of_a_word_to_one(self, spellings):
        forms = {
            tokenise.index_text(form).folded
            for text in spellings
            for form in (text, unicodedata.normalize("NFD", text), text.upper())
            if text.upper().lower() == text.lower() or form != text.upper()
        }

        assert len(forms) == 1

    def test_each_word_of_each_script_is_one_word(self):
        for word in SCRIPTS:
            assert tokenise.index_text(f"{word}, {word}.").exact == f"{word} {word}"

    def test_words_that_differ_by_a_vowel_sign_stay_apart(self):
        for left, right in [
            ("कल", "काल"),
            ("தடை", "தடி"),
            ("が", "か"),
            ("мой", "мои"),
        ]:
            pair = tokenise.index_text(left), tokenise.index_text(right)
            assert pair[0].folded != pair[1].folded

    @given(st.text(alphabet=st.characters(), max_size=300))
    def test_it_leaves_nothing_that_postgresql_cannot_store(self, text):
        cut = tokenise.index_text(text)

        assert "\x00" not in cut.exact + cut.folded
        cut.exact.encode("utf-8")

    @given(st.text(alphabet=st.characters(), max_size=300))
    def test_it_folds_each_word_to_one_word(self, text):
        cut = tokenise.index_text(text)

        assert len(cut.exact.split(" ")) == len(cut.folded.split(" "))

    def test_a_very_long_word_takes_no_long_time(self):
        started = time.perf_counter()

        tokenise.index_text("a" * 50_000 + " " + "aB" * 20_000)

        assert time.perf_counter() - started < 5

    @pytest.mark.parametrize("first", [0x4E00, 0x20000])
    def test_it_stays_below_what_a_tsvector_holds(self, first):
        rare = "".join(chr(first + n % 20_000) for n in range(100_000))

        assert tokenise.index_text(rare).length <= tokenise.MAX_CHARACTERS


class TestWords:
    def test_it_returns_the_words_in_order(self):
        text = "Die Straße ist „zu“, getUserName 3.14 日本 서버는"

        words = ["die", "straße", "ist", "zu", "getusername", "3.14", *"日本서버는"]
        assert tokenise.words(text) == words

    @given(st.text(max_size=200))
    def test_each_unicode_form_of_a_text_has_the_same_words(self, text):
        words = tokenise.words(text)

        assert tokenise.words(unicodedata.normalize("NFD", text)) == words
        assert tokenise.words(unicodedata.normalize("NFKC", text)) == words

    @given(st.text(st.characters(max_codepoint=127)))
    def test_words_of_an_ascii_text_are_those_of_any_other(self, text):
        assert [*tokenise.words(text), "é"] == tokenise.words(f"{text} é")

    def test_vowel_signs_and_accents_are_part_of_a_word(self):
        for left, right in [("sí", "si"), ("कल", "काल"), ("كَتَبَ", "كُتِبَ"), ("có", "cỏ")]:
            assert tokenise.words(left) != tokenise.words(right)


class TestCompounds:
    def test_it_keeps_identifiers_whole_that_are_cut_elsewhere(self):
        found = tokenise.compounds(
            "see src/auth.py and Page_Index, run --force, v1.2.3"
        )

        assert found == ["src/auth.py", "page_index", "--force", "v1.2.3"]

    def test_it_leaves_words_to_the_parser(self):
        assert tokenise.compounds("getUserName and E1101 are words") == []

    def test_it_leaves_out_what_is_too_long_to_be_searched_for(self):
        assert tokenise.compounds("a/" * 120) == []

    def test_a_number_is_found_without_its_hyphen(self):
        found = tokenise.compounds("ADR-016, utf_8 and CVE-2024-1 of v1.2.3-4")

        assert {"adr016", "utf8", "cve20241"} <= set(found)


def test_short_words_in_capitals_are_names_unless_all_is_in_capitals():
    assert set(tokenise.names_in_capitals("The IT of the WHO, not it")) == {"it", "who"}
    assert tokenise.names_in_capitals("IT") == ["it"]
    assert tokenise.names_in_capitals("DO NOT FORGET IT") == []


class TestParts:
    def test_it_tells_where_words_and_their_parts_stand(self):
        text = "a getUserName b"

        found = [match[0] for match in tokenise.find_words(text, 0, len(text))]
        parts = ["getUserName"[slice(*span)] for span in tokenise.part_spans(found[1])]

        assert found == ["a", "getUserName", "b"]
        assert parts == ["get", "User", "Name"]

    def test_a_plain_word_has_none(self):
        assert tokenise.part_spans("plain") == []


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_an_ascii_text_are_found_as_those_of_any_other(text):
    found = [match.span() for match in tokenise.find_words(text, 0, len(text))]

    *before, _last = (
        match.span() for match in tokenise.find_words(f"{text} é", 0, len(text) + 2)
    )
    assert found == before
