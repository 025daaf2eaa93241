from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.paths import clean_path

# Each row has spellings of one path; the first is the one that is kept.
ONE_FILE = [
    (
        "src/auth.py",
        "src\\auth.py",
        "./src//auth.py",
        " src/./x/../auth.py ",
        "src/auth.py\n",
    ),
    (
        "C:/code/a.py",
        "c:\\code\\a.py",
        "/c:/code/a.py",
        "file:///C:/code/a.py",
        "\\\\?\\C:\\code\\a.py",
    ),
    (
        "/w/a b.py",
        "file:///w/a%20b.py",
        "FILE://localhost/w/a b.py",
        "//w//a b.py",
        "/../w/a b.py",
    ),
    (
        "doc/Größe.md",
        unicodedata.normalize("NFD", "doc/Größe.md"),
        "file:doc/Gr%C3%B6%C3%9Fe.md",
    ),
    ("../lib/a.py", "..\\lib\\a.py", "../lib/x/../a.py"),
    ("src/auth/", "src\\auth\\", "src//auth/", "src/auth/.", "./src/auth/./"),
    ("src/*", "src\\*", "./src/*"),
    ("/", "//", "/."),
    ("", ".", "./", "x/.."),
]
# A sign that a pattern reads otherwise, and the case of letters, stay.
AS_THEY_ARE = [
    "lib/100%.py",
    "a_b.py",
    "app/[id]/page.tsx",
    "Readme.MD",
    "~/x",
    "a:b/c",
]
AS_THEY_ARE += [
    "https://example.org//a/../b",
    ".env",
    "..a/b",
    "x/...",
    "file.py",
    "%2e%2e",
]


@pytest.mark.parametrize("spellings", ONE_FILE)
def test_all_spellings_of_a_path_are_one(spellings):
    assert {clean_path(each) for each in spellings} == {spellings[0]}


@pytest.mark.parametrize("path", AS_THEY_ARE)
def test_other_paths_stay_as_they_are(path):
    assert clean_path(path) == path


@given(
    st.text(st.sampled_from("a.B:/\\% _e\u0301\u00e9") | st.characters(), max_size=40)
)
def test_a_clean_path_is_clean(path):
    clean = clean_path(path)

    assert clean_path(clean) == clean
    assert "//" not in clean or "://" in clean
    assert unicodedata.is_normalized("NFC", clean)
