"""The settings `agent-mem` of seed 004, under its hyphenated names."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from rest_framework import serializers

from agents.serializers.answers import WithError
from agents.serializers.in_collection import InCollection
from common.api.serializers import NullIsAbsent
from projects.options import TEMPLATE_NAMES, AgentSettings

MAX_TEMPLATE = 10_000  # characters; `AgentSettings.templates` has the same bound
# The settings that the route has, with what each does. Bounds and defaults are those of
# `AgentSettings`.
HELP = {
    "max_iterations": "The most steps of one question; steps of `history` count.",
    "working_memory_threshold": "Tokens of the working memory above which its oldest steps "
    "are condensed.",
    "keep_last_steps": "How many of the newest steps are never condensed.",
    "fact_retrieval_top_k": "The most facts that a question is given.",
    "episode_retrieval_top_k": "The most past episodes that a question is given.",
    "enable_auto_fact_extraction": "Whether facts are extracted when an answer was given.",
    "enable_episode_recording": "Whether a task becomes an episode when it is over.",
    "additional_context": "A text that every system prompt of the agent has.",
    "protocol": "How the model names a tool: `text` in words, `tools` by the function "
    "calling of its endpoint.",
    "max_seconds": "The most seconds of one question.",
    "conversation_timeout": "Minutes of silence after which a conversation is over.",
    "token_budget": "Tokens of a prompt that memory and steps may take; system text and "
    "question come on top.",
    "templates": "Templates that replace those of the service, by name: "
    f"{', '.join(TEMPLATE_NAMES)}. Each must have its placeholders once (docs/agents.md).",
}


def seed_name(name: str) -> str:
    return name.replace("_", "-")


def _field_of(name: str, *, read_only: bool) -> serializers.Field[Any, Any, Any, Any]:
    """Return the field of a setting, with the bounds of its type."""
    setting = AgentSettings.model_fields[name]
    how: dict[str, Any] = {"help_text": HELP[name]}
    if seed_name(name) != name:
        how["source"] = name
    how |= {"read_only": True} if read_only else {"required": False}
    if get_origin(setting.annotation) is Literal:
        return serializers.ChoiceField(choices=get_args(setting.annotation), **how)
    if setting.annotation is bool:
        return serializers.BooleanField(**how)
    if setting.annotation is int:
        return serializers.IntegerField(**_bounds(setting), **how)
    if setting.annotation is str:
        return serializers.CharField(
            max_length=_bounds(setting)["max_length"],
            allow_blank=True,
            trim_whitespace=False,
            **how,
        )
    text = serializers.CharField(max_length=MAX_TEMPLATE, trim_whitespace=False)
    return serializers.DictField(child=text, **how)


def _bounds(setting: FieldInfo) -> dict[str, Any]:
    names = {"ge": "min_value", "le": "max_value", "max_length": "max_length"}
    return {
        field_name: getattr(bound, name)
        for bound in setting.metadata
        for name, field_name in names.items()
        if hasattr(bound, name)
    }


class AgentConfigQuery(InCollection):
    """Whose settings to read."""


class PutAgentConfig(InCollection, NullIsAbsent):
    """The settings to store; a setting that is left out returns to its default."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        own = {seed_name(name): _field_of(name, read_only=False) for name in HELP}
        for field in own.values():
            field.allow_null = True
        return fields | own


class AgentConfigOut(WithError):
    """The settings that hold, with every default."""

    project_id = serializers.UUIDField(help_text="The project.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        own = {seed_name(name): _field_of(name, read_only=True) for name in HELP}
        return own | super().get_fields()
