# ruff: noqa: RUF001  # letters of many scripts are what these tests are about
"""A word is found however it is typed, in every script."""

from __future__ import annotations

import unicodedata
from importlib import import_module

import pytest
from django.apps import apps
from django.db.models.expressions import RawSQL

from common.text import tokenise
from jobs.models import Job
from memories.models import Memory
from search.parse_query import LexemeQuery

# Each text, and queries that find it: a letter, an inflected word, another spelling.
FOUND = {
    "税率は十パーセントです。": ["税", "税率", "率"],
    "彼はログを読んだので、答えを書いた。": ["読む", "書く", "答え"],
    "データベースを夜に保存する": ["データベース", "ﾃﾞｰﾀﾍﾞｰｽ", "データ"],
    "人工智能技术发展迅速": ["技术", "智能", "人"],
    "결제 서버는 자정에 재시작됩니다": ["서버", "서버를", "재시작", "결제"],
    "เซิร์ฟเวอร์ชำระเงินรีสตาร์ท": ["ชำระเงิน", "เงิน", "เซิร์ฟเวอร์"],
    "ຖານຂໍ້ມູນຢູ່ນີ້": ["ຖານຂໍ້ມູນ"],
    "មូលដ្ឋានទិន្នន័យ": ["ទិន្នន័យ"],
    "ဒေတာဘေ့စ်ကို သိမ်းပါ": ["ဒေတာဘေ့စ်"],
    "हमारा डेटाबेस हर रात": ["डेटाबेस", "रात"],
    "தரவுத்தளம் இங்கே": ["தரவுத்தளம்"],
    "ডাটাবেস এখানে": ["ডাটাবেস"],
    "كَلِمَةُ المُرورِ تتغيَّر": ["كلمة المرور", "المرور"],
    "الخادم الأساسي إلى الآن": ["الاساسي", "الي"],
    "תִּקּוּן התקלה": ["תיקון", "תקון"],
    "Die Straße ist für Müller gesperrt": ["strasse", "STRASSE", "muller"],
    "Nasıl ISPARTA'da ılık su": ["ısparta", "isparta", "ilik"],
    "Le cœur a échoué à Orléans": ["coeur", "echoue", "ORLEANS"],
    "Łódź és Győr": ["lodz", "gyor"],
    "Đà Nẵng có cơ sở": ["da nang", "co so"],
    "Всё ещё работает": ["все", "еще"],
    "Τα αντίγραφα ασφαλείας": ["αντιγραφα", "ΑΝΤΙΓΡΑΦΑ"],
    "The decision ADR-016 stands": ["adr016", "ADR-016", "adr_016"],
    "See adr017 and utf8": ["ADR-017", "utf-8"],
    "Ask IT about the WHO": ["IT", "WHO"],
    "soft\u00adware up\u200bdate": ["software", "update"],
}
PAIRS = [(text, query) for text, queries in FOUND.items() for query in queries]


@pytest.fixture
def fillers(remember):
    for number in range(8):
        remember(f"It is a filler, who knows, and it does {number}")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_query_finds_a_word_in_any_spelling(remember, fillers, contents, form):
    for text in FOUND:
        remember(unicodedata.normalize(form, text))

    lost = [
        (text, query)
        for text, query in PAIRS
        if unicodedata.normalize(form, text)
        not in contents(unicodedata.normalize(form, query), mode="keyword")[:3]
    ]

    assert not lost


def test_the_word_as_it_is_typed_comes_first(remember, contents):
    for text in ("Le résumé est prêt", "Please resume the job"):
        remember(text)

    assert contents("résumé", mode="keyword")[0] == "Le résumé est prêt"


def test_a_phrase_is_found_in_any_spelling_and_only_as_it_stands(remember, contents):
    for text in (
        "Le déploiement échoué",
        "échoué, le déploiement",
        "税率は十",
        "十は率税",
    ):
        remember(text)

    for phrase, text in [
        ('"deploiement echoue"', "Le déploiement échoué"),
        ('"déploiement échoué"', "Le déploiement échoué"),
        ('"税率"', "税率は十"),
    ]:
        assert contents(phrase, mode="keyword", syntax="operators") == [text]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Le déploiement échoue", "deploiement", "<mark>déploiement</mark>"),
        ("税率は十。税は高い。", "税率", "<mark>税率</mark>は十。税は高い。"),
        ("税率は十", "税", "<mark>税</mark>率"),
        ("결제 서버는 자정", "서버", "<mark>서버</mark>는"),
        ("हमारा डेटाबेस", "डेटाबेस", "<mark>डेटाबेस</mark>"),
    ],
)
def test_a_snippet_marks_what_the_query_found(remember, search, text, query, marked):
    remember(text)

    assert marked in search(query, mode="keyword")[0].snippet


def test_postgresql_takes_each_word_as_it_is_cut(terms_of):
    for text in FOUND:
        words = tokenise.index_text(text)
        lexemes = {each.lexeme for each in terms_of(text, "simple")}

        assert {*words.exact.split(), *words.folded.split()} <= lexemes


def test_the_migration_has_the_lexemes_of_each_project_written_again(
    remember, project, run_jobs
):
    memory = remember("Die Straße ist gesperrt")
    Memory.objects.filter(pk=memory.pk).update(content_tsv=RawSQL("''::tsvector", []))

    migration = import_module("search.migrations.0002_words_of_every_script")
    migration.enqueue_reindex(apps, None)
    run_jobs()

    assert Job.objects.filter(kind="reindex", state="done").exists()
    assert Memory.objects.filter(content_tsv=LexemeQuery("'strass'")).exists()
