from __future__ import annotations

import pytest

from common.text.danger import detect
from common.text.danger.look_alike_packages import is_one_edit


@pytest.mark.parametrize(
    "text",
    [
        "Run `pip install reqeusts` first.",
        "Use `npm install expresss`.",
        "Run `pip install djnago`.",
        "Run `npm i lodahs`.",
        "Add it with `uv add pandsa`.",
        "Run `pip install python_dateutils==2.9`.",
        "Run `poetry add requests sqlalchmy`.",
        "pip install numpyy",
    ],
)
def test_the_install_of_a_name_that_is_one_edit_from_a_known_one_is_dangerous(text):
    assert {danger.kind for danger in detect.find_dangers(text)} == {"package_source"}


@pytest.mark.parametrize(
    "text",
    [
        "Run `pip install requests django-filter boto boto3 psycopg2`.",
        "Run `npm install preact colors mysql2 react-query`.",
        "Run `uv add django_filter Flask-Login`.",
        "Run `pip install -r requirements.txt` and then the tests.",
        "Do not `pip install reqeusts`; the name is a typo.",
        "`reqeusts` is a typo that the linter finds.",
        "Run `pip install acme-requests-tools`.",
    ],
)
def test_other_installs_and_names_are_not(text):
    assert detect.find_dangers(text) == ()


@pytest.mark.parametrize(
    ("one", "other", "is_near"),
    [
        ("flask", "flaskk", True),
        ("flask", "flsak", True),
        ("flask", "flusk", True),
        ("flask", "flask", False),
        ("flask", "fklas", False),
        ("flask", "flaskit", False),
        ("", "a", True),
    ],
)
def test_one_edit_is_one_letter_or_one_swap(one, other, is_near):
    assert is_one_edit(one, other) is is_near
    assert is_one_edit(other, one) is is_near
