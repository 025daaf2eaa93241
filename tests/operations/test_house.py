"""`bin/house` finds what the structure must not have, in small made-up trees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from bin import house

CONTRACTS = """
[[tool.importlinter.contracts]]
name = "Downwards only"
type = "layers"
layers = ["shop", "stock | prices"]
"""
FAULTS = (
    "circles of modules",
    "circles of rooms",
    "arrows up",
    "class names used twice",
    "bare participles and gerunds",
)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Write a tree of these files, each package with its `__init__`."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(files):
        (tmp_path / "pyproject.toml").write_text(CONTRACTS)
        for name, text in {"stock/a.py": "", "prices/a.py": "", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for folder in filter(Path.is_dir, tmp_path.rglob("*")):
            (folder / "__init__.py").touch()
        return tmp_path

    return write


def faults_of(root):
    """List what stands under the title of each fault."""
    lines, is_sound = house.describe(root)
    faults = {}
    for title in FAULTS:
        [start] = [n for n, line in enumerate(lines) if line.startswith(f"{title}: ")]
        count = int(lines[start].rpartition(" ")[2])
        if count:
            faults[title] = [
                line.strip() for line in lines[start + 1 : start + 1 + count]
            ]
    assert is_sound == (not faults)
    return faults


class TestCircles:
    def test_one_behind_an_import_in_a_function_is_faults_of(self, tree):
        lazy = "def sell():\n    from shop import till\n    return till\n"
        root = tree({"shop/counter.py": lazy, "shop/till.py": "import shop.counter\n"})

        assert faults_of(root) == {
            "circles of modules": ["shop.counter, shop.till"],
            "circles of rooms": ["shop: counter, till"],
        }

    def test_one_behind_an_import_for_types_is_faults_of(self, tree):
        guarded = (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from shop.till import Till\n"
        )
        till = "from shop import counter\nclass Till: ...\n"
        root = tree({"shop/counter.py": guarded, "shop/till.py": till})

        assert faults_of(root)["circles of modules"] == ["shop.counter, shop.till"]

    def test_one_of_rooms_whose_modules_make_none_is_faults_of(self, tree):
        root = tree(
            {
                "shop/front/door.py": "from shop.back import shelf\n",
                "shop/back/shelf.py": "",
                "shop/back/lift.py": "from shop.front import bell\n",
                "shop/front/bell.py": "",
            }
        )

        assert faults_of(root) == {"circles of rooms": ["shop: back, front"]}


class TestArrowsUp:
    def test_an_import_of_a_higher_floor_is_faults_of(self, tree):
        root = tree({"stock/a.py": "from shop import b\n", "shop/b.py": ""})

        assert faults_of(root) == {"arrows up": ["stock.a -> shop.b"]}

    def test_an_import_across_a_common_floor_is_faults_of(self, tree):
        root = tree({"stock/a.py": "import prices.a\n", "shop/b.py": ""})

        assert faults_of(root) == {"arrows up": ["stock.a -> prices.a"]}

    def test_an_import_of_a_lower_floor_is_none(self, tree):
        assert faults_of(tree({"shop/b.py": "from stock import a\n"})) == {}

    def test_migrations_and_tests_are_left_out(self, tree):
        up = "from shop import b\nclass Told: ...\nclass Told: ...\n"
        root = tree(
            {"stock/migrations/a.py": up, "stock/tests/a.py": up, "shop/b.py": ""}
        )

        assert faults_of(root) == {}


class TestClassNames:
    def test_one_used_twice_is_found_with_its_places(self, tree):
        root = tree(
            {"shop/b.py": "\nclass Price: ...\n", "stock/a.py": "class Price: ..."}
        )

        assert faults_of(root) == {
            "class names used twice": ["Price  shop/b.py:2 stock/a.py:1"]
        }

    def test_django_s_own_may_be_used_twice(self, tree):
        command = "class Command:\n    class Meta: ...\n"

        assert faults_of(tree({"shop/b.py": command, "stock/a.py": command})) == {}

    def test_choices_of_models_may_be_used_twice_but_only_nested(self, tree):
        order, box = (
            f"class {name}:\n    class State: ...\n" for name in ("Order", "Box")
        )
        root = tree({"shop/b.py": order, "stock/a.py": box})
        assert faults_of(root) == {}

        (root / "stock/a.py").write_text("class State: ...\n")
        (root / "prices/a.py").write_text("class State: ...\n")

        assert list(faults_of(root)) == ["class names used twice"]


class TestParticiples:
    @pytest.mark.parametrize(
        "name",
        [
            "told",
            "_told",
            "shown",
            "as_told",
            "kept_apart",
            "settling",
            "taking_up",
            "without_waiting",
            "LeftOut",
            "Settling",
        ],
    )
    def test_a_bare_one_is_one(self, name):
        assert house.is_participle(name)

    @pytest.mark.parametrize(
        "name",
        [
            "embedded_rows",
            "string",
            "embed",
            "need",
            "is_embedded",
            "was_given",
            "get_made",
            "write_told",
            "ranking",
            "RankedEntry",
            "put_back",
            "at_once",
            "settle",
            "x",
        ],
    )
    def test_what_a_noun_or_a_verb_carries_is_none(self, name):
        assert not house.is_participle(name)

    def test_modules_packages_classes_and_methods_are_looked_at(self, tree):
        till = "class Kept:\n    def shown(self): ...\n    def __missing__(self): ...\n"
        root = tree({"shop/settling/b.py": till, "shop/told.py": ""})

        names = [
            line.split()[0] for line in faults_of(root)["bare participles and gerunds"]
        ]

        assert names == ["Kept", "settling", "shown", "told"]

    def test_one_with_a_reason_is_allowed(self, tree, monkeypatch):
        monkeypatch.setattr(house, "ALLOWED", {"told": "a word of the trade"})

        assert faults_of(tree({"shop/told.py": ""})) == {}

    def test_a_reason_that_no_name_needs_is_printed(self, tree, monkeypatch):
        monkeypatch.setattr(house, "ALLOWED", {"told": "a word of the trade"})

        lines, is_sound = house.describe(tree({"shop/b.py": ""}))

        assert is_sound
        assert lines[-1] == "allowed and not used: told"


class TestFigures:
    def test_lengths_types_and_lines_are_counted(self, tree):
        text = "\n".join(
            [
                "from typing import Any",
                "",
                "def sell(a: Any, *b: dict[str, Any]) -> Any:",
                "    return a + 1  # type: ignore[operator]",
            ]
        )
        lines, _ = house.describe(tree({"shop/b.py": text + "\n"}))

        assert lines[:4] == [
            "functions: 1, median 2 lines, p95 2",
            "files: 1, median 3 lines, p95 3",
            "Any in signatures: 3",
            "type: ignore: 1",
        ]
        assert any(line.split() == ["shop", "4", "lines"] for line in lines)

    def test_rooms_floors_and_arrows_are_those_of_a_room_s_children(self, tree):
        root = tree(
            {
                "shop/front/door.py": "from shop.back import shelf\nimport shop.till\n",
                "shop/front/bell.py": "from shop.back import shelf\n",
                "shop/back/shelf.py": "from shop import till\nfrom stock import a\n",
                "shop/till.py": "",
            }
        )
        lines, _ = house.describe(root)
        rooms = {line.split()[0]: line.split()[1:] for line in lines if line}

        assert rooms["shop"] == ["3", "3", "3"]
        assert rooms["(all)"] == ["3", "2", "1"]


class TestTheCommand:
    def run(self, root):
        command = [sys.executable, "bin/house.py", "--root", root]
        return subprocess.run(
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
        )

    def test_it_ends_well_in_a_sound_house(self, tree):
        answer = self.run(tree({"shop/b.py": ""}))

        assert (answer.returncode, answer.stderr) == (0, "")
        assert "circles of modules: 0\n" in answer.stdout

    def test_it_fails_on_a_fault(self, tree):
        answer = self.run(tree({"shop/told.py": ""}))

        assert (answer.returncode, answer.stderr) == (1, "")
        assert "  told  shop/told.py\n" in answer.stdout


def test_a_module_that_a_program_wrote_is_left_out(tree):
    module = "class Till:\n    pass\n"
    root = tree({"shop/a.py": module, "stock/a.py": f"# Written by x.\n{module}"})

    assert faults_of(root) == {}
