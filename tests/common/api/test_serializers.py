"""Serializer instances are shared among requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from rest_framework import serializers

from common.api import serializers as api_serializers

AT_ONCE = 8


def new_serializer():
    class Row(serializers.Serializer):
        number = serializers.IntegerField()

    class Outer(serializers.Serializer):
        name = serializers.CharField()
        rows = Row(many=True)

    return Outer


def test_the_first_requests_of_a_serializer_can_come_at_once():
    given = {"name": "a", "rows": [{"number": 1}, {"number": 2}]}
    for _ in range(20):
        serializer, together = new_serializer(), Barrier(AT_ONCE)

        def ask(turn, serializer=serializer, together=together):
            together.wait(10)
            data = api_serializers.validate(
                serializer, {**given, "name": f"turn {turn}"}
            )
            return api_serializers.represent(serializer, data)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            answers = list(threads.map(ask, range(AT_ONCE)))

        assert answers == [{**given, "name": f"turn {turn}"} for turn in range(AT_ONCE)]
