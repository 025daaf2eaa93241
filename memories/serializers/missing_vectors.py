"""Serializers of the state of embedding."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memories.maintenance.embedding_wait import MAX_SECONDS


class MissingVectorsOut(serializers.Serializer[Any]):
    waiting = serializers.IntegerField(
        help_text="Memories and playbook entries without a vector that a job will embed."
    )
    failed = serializers.IntegerField(
        help_text="Those that no job will embed: the model refused them, or the job failed. "
        "They are found by their words."
    )
    oldest = serializers.DateTimeField(
        allow_null=True, help_text="When the oldest text that waits was stored."
    )


class WaitQuery(serializers.Serializer[Any]):
    wait = serializers.FloatField(
        min_value=0,
        max_value=MAX_SECONDS,
        default=0,
        help_text="Seconds. The answer comes when the memories of the batch have their "
        "vectors, or when the time is over.",
    )
