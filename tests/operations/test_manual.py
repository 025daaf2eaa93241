"""The manual's pages list what the code has."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from common import errors
from memories.serializers.memories import FileLink, MemoryOut
from memories.serializers.search import HitOut, SearchAnswer

DOCS = Path(settings.BASE_DIR) / "docs"
ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \| ", re.MULTILINE)


def import_everything():
    for app in apps.get_app_configs():
        folder = Path(app.path)
        if folder.parent != settings.BASE_DIR:
            continue
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(settings.BASE_DIR).with_suffix("").parts
            if not {"migrations", "__init__", "__main__"} & set(parts):
                importlib.import_module(".".join(parts))


def family(kind=errors.Refusal):
    for child in kind.__subclasses__():
        yield child
        yield from family(child)


@pytest.fixture(scope="module")
def kinds():
    import_everything()
    return [
        k for k in {errors.Refusal, *family()} if not k.__module__.startswith("tests")
    ]


@pytest.fixture(scope="module")
def listed_codes():
    return dict(ROW.findall((DOCS / "errors.md").read_text()))


class TestErrors:
    def test_each_is_listed_with_its_status(self, kinds, listed_codes):
        missing = {
            k.code: k.status for k in kinds if listed_codes.get(k.code) != str(k.status)
        }

        assert not missing

    def test_nothing_else_is_listed(self, kinds, listed_codes):
        assert listed_codes.keys() == {kind.code for kind in kinds}

    def test_each_says_what_to_do(self, kinds):
        assert not [kind for kind in kinds if not (kind.__doc__ or "").strip()]


class TestLimits:
    def test_each_setting_is_explained(self):
        names = (
            "BODY_LIMIT BODY_DEPTH THROTTLE_KEY THROTTLE_PROJECT THROTTLE_ANONYMOUS "
            "IDEMPOTENCY_DAYS PROJECT_GRACE_DAYS JOB_RETENTION_DAYS SIGN_IN_DAYS "
            "STATEMENT_TIMEOUT_MS LOCK_TIMEOUT_MS"
        )
        page = (DOCS / "limits.md").read_text()

        assert not [name for name in names.split() if f"`{name}`" not in page]


class TestSearchAnswer:
    """The answer of a search in docs/api.md has every field that the API answers with."""

    @pytest.fixture
    def answer(self):
        page = (DOCS / "api.md").read_text()
        return json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])

    def test_it_has_every_field(self, answer):
        (hit,) = answer["hits"]

        assert list(answer) == list(SearchAnswer().fields)
        assert list(hit) == list(HitOut().fields)
        assert list(hit["memory"]) == list(MemoryOut().fields)
        assert list(hit["files"][0]) == list(FileLink().fields)
