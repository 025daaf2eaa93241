"""The settings of a digest (`memory.v1` of requirement 001): docs/digest.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from common import unknown_fields
from context.selection import Budget

Kind = Literal["fact", "note", "procedure", "episode"]
Sensitivity = Literal["public", "private", "sensitive"]
Count = Annotated[int, Field(ge=0, le=1000)]
Size = Annotated[int, Field(ge=0, le=1_000_000)]
Word = Annotated[str, Field(min_length=1, max_length=255)]


class DigestSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StructuredSection(DigestSection):
    fact_keys: Annotated[list[Word], Field(max_length=100)] = []
    tags: Annotated[list[Word], Field(max_length=100)] = []


class Keyword(DigestSection):
    enabled: bool = True
    limit: Annotated[int, Field(ge=1, le=100)] = 60


class Semantic(DigestSection):
    enabled: bool = False
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class Limits(DigestSection):
    max_items: Count
    max_chars: Size
    max_tokens: Size | None = None

    @property
    def budget(self) -> Budget:
        return Budget(self.max_items, self.max_chars, self.max_tokens)


class PerKind(DigestSection):
    fact: Limits = Limits(max_items=6, max_chars=800)
    note: Limits = Limits(max_items=4, max_chars=1_200)
    procedure: Limits = Limits(max_items=3, max_chars=1_200)
    episode: Limits = Limits(max_items=2, max_chars=800)


class DigestBudgets(DigestSection):
    total: Limits = Limits(max_items=12, max_chars=2_400)
    per_kind: PerKind = PerKind()


class DigestOptions(DigestSection):
    """All settings of a digest. An empty `allow_sensitivities` allows no memory."""

    enabled: bool = True
    allow_sensitivities: list[Sensitivity] = ["public", "private"]
    # "own": memories of the agent, and memories without an agent. "all": all memories.
    agents: Literal["own", "all"] = "own"
    structured: StructuredSection = StructuredSection()
    keyword: Keyword = Keyword()
    semantic: Semantic = Semantic()
    budgets: DigestBudgets = DigestBudgets()

    def budget_of(self, kind: str) -> Budget:
        limits: Limits = getattr(self.budgets.per_kind, kind)
        return limits.budget


KINDS: tuple[Kind, ...] = ("fact", "note", "procedure", "episode")


def merge_layers(*layers: Mapping[str, Any]) -> DigestOptions:
    """Merge layers of settings into options. Later layers override earlier layers.

    Raises Invalid or UnknownField with a field error for each wrong setting.
    """
    merged: dict[str, Any] = DigestOptions().model_dump()
    for layer in layers:
        merged = overlay(merged, layer)
    try:
        return DigestOptions.model_validate(merged)
    except ValidationError as error:
        raise unknown_fields.refusal_of(error, DigestOptions) from error


def overlay(below: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` with the values of `layer`; mappings are merged key by key."""
    merged = dict(below)
    for key, value in layer.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[key] = overlay(known, value)
        else:
            merged[key] = value
    return merged
