"""What the doors of the API share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from rest_framework import serializers

from common.api import serializers as api_serializers

AT_ONCE = 8


def new_form():
    class Row(serializers.Serializer):
        number = serializers.IntegerField()

    class Form(serializers.Serializer):
        name = serializers.CharField()
        rows = Row(many=True)

    return Form


def test_the_first_requests_of_a_form_may_come_at_once():
    given = {"name": "a", "rows": [{"number": 1}, {"number": 2}]}
    for _ in range(20):
        form, together = new_form(), Barrier(AT_ONCE)

        def ask(turn, form=form, together=together):
            together.wait(10)
            data = api_serializers.validate(form, {**given, "name": f"turn {turn}"})
            return api_serializers.represent(form, data)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            answers = list(threads.map(ask, range(AT_ONCE)))

        assert answers == [{**given, "name": f"turn {turn}"} for turn in range(AT_ONCE)]
