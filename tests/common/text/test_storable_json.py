from __future__ import annotations

import pytest

from common import errors
from common.text import storable_json
from projects import lifecycle


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, {"b": "x\x00"}]}, "a.1.b"),
        ({"a": {"k\ud800": 1}}, "a.(a key)"),
        ({"a": {"k\x00": 1, "k\ufffd": 2}}, "a"),
        ({"a": ["fine", None, 2.5, True]}, None),
    ],
)
def test_it_finds_the_first_text_that_cannot_be_stored(value, path):
    assert storable_json.find_unstorable(value) == path


def test_settings_that_cannot_be_stored_are_refused():
    with pytest.raises(errors.Invalid) as refusal:
        lifecycle.merge_settings({}, {"lasting_phrases": ["so \x00"]})

    assert refusal.value.errors.keys() == {"settings.lasting_phrases.0"}
