"""Secrets whose names stand on another level of a JSON value."""

from __future__ import annotations

import json

import pytest

from common.text.json_secrets import JsonMasker

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


@pytest.mark.parametrize(("value", "secret"), VALUES)
def test_they_are_masked_in_json_values(value, secret):
    assert secret not in json.dumps(JsonMasker().mask(value))


def test_the_key_of_a_scope_is_no_secret():
    value = {"scope": {"key": "0192f7b8-1a2b-7c3d-8e4f-123456789abc"}}

    assert JsonMasker().mask(value) == value
