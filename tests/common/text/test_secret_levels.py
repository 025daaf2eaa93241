"""Secrets whose names stand on another line or level of a text, or of a JSON value."""

from __future__ import annotations

import json
import random

import pytest

from common.text import secrets
from common.text.json_secrets import JsonMasker
from tests.common.text.test_secret_kinds import made

PLACES = (
    "{}",
    "log: start\n{}\nend",
    "```\n{}\n```",
    "We changed it:\n\n{}\n\nThen it ran.",
)
TEXTS = [
    *("DB_PASSWORD: «{B:22}==»", "secret_key: «{B:23}=»", "export API_KEY=«{B:22}==»"),
    r"- name: DB_PASSWORD\n  value: «{P}»",
    r"env:\n  - name: API_TOKEN\n    value: \"«{A:20}»\"".replace('\\"', '"'),
    r"- name: DB_PASSWORD # the main one\n  value: «{P}»",
    '{"Name":"SECRET_KEY","Value":"«{A:20}»"}',
    '{"value": "«{P}»", "name": "DB_PASSWORD"}',
    '{"id": "7", "Key": "db_pass", "Value": "«{P}»"}',
    r'set {\n  name  = "adminPassword"\n  value = "«{P}»"\n}',
    r"passwords:\n  - first1secret\n  - «{P}»",
    '"api_keys": ["a1b2c3d4e5f6g7h8", "«{A:20}»"]',
    "tokens = ['«{A:20}»', 'x']",
    r'passwords = [\n  "«{P}»",\n]',
    r"secrets:\n- «{A:20}»",
    '{"password": {"value": "«{P}»"}}',
    '{"api": {"key": "«{A:20}»"}}',
    r"api:\n  key: «{A:20}»",
    r"[password]\nvalue = «{P}»",
    r"[smtp.password]\nvalue = «{P}»",
    "password: { value: «{P}» }",
    r"auth:\n  token:\n    value: «{A:20}»",
    '{"secrets": {"db": "«{A:20}»"}}',
    "db.example.com:5432:shop:bob:«{P}»",
    "*:*:*:postgres:«{P}»",
    "bob:$«apr1$x8Kf92Lq${A:22}»",
    "root:$«6$Zk3mQ9xW${A:86}»:19000:0:99999:7:::",
    "bob:«{SHA}{B:27}=»",
    "requirepass «{P}»",
    "send the header X-Auth-Token «{A:24}» with it",
]
P, A = "Tiger4711!", "kR7mQ2xW9pL4vT8z"
VALUES = [
    ({"passwords": [P, "x"]}, P),
    ({"tokens": [A]}, A),
    ({"secrets": {"db": A}}, A),
    ({"password": {"current": "x1y2", "new": P}}, P),
    ({"api": {"key": A}}, A),
    ({"auth": {"token": {"value": A}}}, A),
    ({"Name": "DB_PASSWORD", "Value": P}, P),
    ({"name": "DB_PASSWORD", "value": P, "id": "7"}, P),
    ({"ParameterKey": "DbPassword", "ParameterValue": P}, P),
    ({"content": "It is kept here.", "key": "db_password", "value": P}, P),
    ({"variable_name": "DB_PASSWORD", "variable_value": P}, P),
]


@pytest.mark.parametrize("place", PLACES)
def test_they_are_masked_in_texts(place):
    left = []
    for template in TEXTS:
        text, secret = made(template, random.Random(template))
        masked = secrets.mask(place.replace("{}", text)).text
        if secret in masked or secrets.mask(masked).text != masked:
            left.append(masked)

    assert left == []


@pytest.mark.parametrize(("value", "secret"), VALUES)
def test_they_are_masked_in_json_values(value, secret):
    assert secret not in json.dumps(JsonMasker().mask(value))


def test_the_key_of_a_scope_is_no_secret():
    value = {"scope": {"key": "0192f7b8-1a2b-7c3d-8e4f-123456789abc"}}

    assert JsonMasker().mask(value) == value
