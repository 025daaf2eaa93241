from __future__ import annotations

import pytest

from ace.task import file_words
from context.files import twins


class TestPurpose:
    @pytest.mark.parametrize(
        "text",
        [
            "// Package cart keeps what a customer buys.\npackage cart\n",
            '#!/usr/bin/env python\n# Copyright 2020 Ana\n\n"""cart keeps what a customer buys."""\n',
            "/* SPDX-License-Identifier: MIT */\nimport a from 'b';\n\n/**\n * cart keeps what a\n * customer buys. More.\n */\nexport class Cart {}\n",
            "# cart keeps what a customer buys.\n\nMore words.\n",
            "-- cart keeps what a customer buys.\nCREATE TABLE cart ();\n",
        ],
    )
    def test_it_is_the_first_sentence_of_the_first_comment(self, text):
        assert file_words.of_text(text).endswith("cart keeps what a customer buys.")

    @pytest.mark.parametrize(
        "text",
        [
            "package cart\n\nfunc Buy() {\n\t// Buys what stands in the cart.\n}\n",
            "# Copyright 2020 by Ana, all rights reserved\n",
            "x = 1\n# cart keeps what a customer buys.\n",
            "",
        ],
    )
    def test_a_file_without_one_has_no_description(self, text):
        assert file_words.of_text(text) == ""

    def test_the_declared_names_stand_in_for_it(self):
        names = file_words.find_declarations("func Buy() {}\nfunc (c *Cart) Sell() {}")

        assert file_words.of_names(names) == "Buy, Sell"


class TestTwins:
    @pytest.mark.parametrize(
        ("file", "test"),
        [
            ("cli/explain.go", "cli/explain_test.go"),
            ("shop/cart.py", "tests/shop/test_cart.py"),
            ("src/cart.ts", "src/__tests__/cart.test.ts"),
            ("src/main/java/shop/Cart.java", "src/test/java/shop/CartTest.java"),
            ("app/models/cart.rb", "spec/models/cart_spec.rb"),
        ],
    )
    def test_a_test_stands_with_its_file(self, file, test):
        assert twins.group([file, test]) == {file: file, test: file}

    def test_a_test_of_two_files_that_are_equally_near_stands_alone(self):
        files = ["a/cart.py", "b/cart.py", "tests/test_cart.py"]

        assert twins.group(files)["tests/test_cart.py"] == "tests/test_cart.py"
