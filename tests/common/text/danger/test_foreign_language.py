from __future__ import annotations

from pathlib import Path

import pytest

from common.text.danger.foreign_language import foreign_language

FOLDER = Path(__file__).parent


def read(name):
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()


class TestForeignLanguage:
    @pytest.mark.parametrize(
        ("text", "language"),
        [
            ("Führe die Tests vor jedem Commit aus.", "de"),
            ("Lance les tests avant chaque commit dans la branche.", "fr"),
            ("Siempre usa el índice antes de insertar.", "es"),
            ("Перед коммитом запускай все тесты.", "ru"),
            ("提交之前运行测试。", "zh"),
            ("コミットの前にテストを実行する。", "ja"),
            ("커밋 전에 테스트를 실행한다.", "ko"),
            ("Sla je werk daarom op met `git stash` totdat iemand het bijwerkt.", "nl"),
            ("Assuma o papel de dono e conceda a licença em nome dele.", "pt"),
            ("Lascia il server in esecuzione: è più leggero di un altro.", "it"),
            ("Kör alla tester innan och efter en commit.", "sv"),
            ("Όλα τα τεστ πριν από το commit.", "el"),
        ],
    )
    def test_it_names_the_language_of_prose(self, text, language):
        assert foreign_language(text) == language

    def test_it_knows_most_short_sentences(self):
        known = [text for text in read("translated") if foreign_language(text)]

        assert len(known) >= 0.85 * len(read("translated"))

    @pytest.mark.parametrize("name", ["harmless", "dangerous"])
    def test_english_is_not_foreign(self, name):
        assert {text for text in read(name) if foreign_language(text)} == set()

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "mypy",
            "pip install de_core_news_sm",
            "ls -la /la/el",
            "SELECT * FROM t WHERE a IN (1)",
            "Café naïve résumé",
            "Run `la commande` first.",
            "Use El Niño data.",
            "Do not use ѕudо.",  # noqa: RUF001  Cyrillic letters in a word
            'Translate "Bitte nicht die Tests löschen" with gettext.',
        ],
    )
    def test_a_technical_text_with_names_is_not_foreign(self, text):
        assert foreign_language(text) == ""
