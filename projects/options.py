"""The settings of a project, with defaults and bounds: docs/settings.md."""

from __future__ import annotations

import re
from string import Template
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Fraction = Annotated[float, Field(ge=0, le=1)]
# A host such as `docs.example.com`, or a host with the beginning of a path.
TrustedHost = Annotated[
    str,
    Field(
        max_length=255,
        pattern=r"^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
        r"(?:/[A-Za-z0-9._~-]+)*$",
    ),
]


class SettingsSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DedupSettings(SettingsSection):
    enabled: bool = True
    # A memory is a near-duplicate if its cosine is at least this value (REQ-MEM-DEDUP-001).
    threshold: Annotated[float, Field(ge=0.5, le=1)] = 0.95


class BudgetSettings(SettingsSection):
    # The most tokens of the live playbook. Additions beyond this are refused (docs/ace.md,
    # "Gates").
    playbook_tokens: Annotated[int, Field(ge=100, le=1_000_000)] = 60_000
    # Tokens of one rendering for an agent.
    render_tokens: Annotated[int, Field(ge=50, le=200_000)] = 8_000


class PlaybookSettings(SettingsSection):
    # Days until an entry that nobody has verified needs a review; None means never.
    review_days: Annotated[int, Field(ge=1, le=3650)] | None = None


# The languages that PostgreSQL 16, the oldest supported version, can stem. `simple` does
# not stem.
TextSearchLanguage = Literal[
    "simple",
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "danish",
    "dutch",
    "english",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
    "yiddish",
]


class SearchSettings(SettingsSection):
    language: TextSearchLanguage = "english"
    fusion: Literal["relative", "rrf"] = "relative"
    keyword_weight: Fraction = 0.5
    semantic_weight: Fraction = 0.5

    @model_validator(mode="after")
    def one_lane_has_weight(self) -> Self:
        if not (self.keyword_weight or self.semantic_weight):
            raise ValueError("keyword_weight or semantic_weight must be above 0")
        return self


class LanguageSettings(SettingsSection):
    """Whether the project may call a language model, and how much."""

    enabled: bool = True
    # The limits are for one day (UTC). Without a maximum cost, the cost has no limit.
    tokens_per_day: Annotated[int, Field(ge=0, le=10**9)] = 1_000_000
    cost_per_day: Annotated[float, Field(ge=0, le=10**6)] | None = None
    # Of a session that the model reads at once; a longer one is read in parts.
    record_tokens: Annotated[int, Field(ge=2_000, le=200_000)] = 24_000


MemoryKind = Literal["note", "fact", "procedure", "episode"]
ScopeName = Literal["session", "user", "workspace", "org", "object"]
Maximum = Annotated[int, Field(ge=1, le=10**9)] | None


class CompactionSettings(SettingsSection):
    """Which memories the daily compaction merges; the compaction leaves out facts with a key."""

    enabled: bool = False
    older_than_days: Annotated[int, Field(ge=1, le=3650)] = 30
    # The number of memories with the same scope, kind, sensitivity and expiry in one
    # compaction.
    at_least: Annotated[int, Field(ge=2, le=500)] = 10
    at_most: Annotated[int, Field(ge=2, le=500)] = 50
    kinds: Annotated[list[MemoryKind], Field(min_length=1, max_length=4)] = [
        "note",
        "episode",
    ]
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=5)] = [
        "session",
        "user",
    ]
    delete_sources: bool = True

    @model_validator(mode="after")
    def at_least_is_no_more_than_at_most(self) -> Self:
        if self.at_least > self.at_most:
            raise ValueError("at_least is more than at_most")
        return self


class KindQuotas(SettingsSection):
    note: Maximum = None
    fact: Maximum = None
    procedure: Maximum = None
    episode: Maximum = None


class QuotaSettings(SettingsSection):
    """The maximum number of live memories; None means no limit."""

    memories: Maximum = None
    per_user: Maximum = None
    per_kind: KindQuotas = KindQuotas()


class ConversationSettings(SettingsSection):
    """How sessions are kept and compacted; docs/conversations.md."""

    # The store that keeps the sessions: `simple` has no summaries, no search, no versions.
    store: Literal["full", "simple"] = "full"
    # The tokens of an assembled context, unless the call or the session says otherwise.
    token_budget: Annotated[int, Field(ge=1, le=100_000_000)] = 80_000
    # With `auto`, a language model writes the summaries if the project may call one.
    summarizer: Literal["auto", "extractive", "off"] = "auto"
    sessions_per_user: Annotated[int, Field(ge=1, le=10**9)] = 10_000
    messages_per_session: Annotated[int, Field(ge=1, le=10**9)] = 1_000_000
    # Days until an idle session is archived, and until an archived one is purged; None means
    # never.
    archive_after_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    purge_after_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    # Whether the tasks of a coding agent's transcript are learned from.
    learn_from_transcripts: bool = True


# The templates of an agent's prompt, and the placeholders that each must hold.
TemplateName = Literal[
    "system",
    "protocol_text",
    "protocol_tools",
    "facts",
    "episodes",
    "memories",
    "conversation",
    "rules",
    "digest",
    "working_memory",
    "question",
]
TEMPLATE_NAMES: tuple[TemplateName, ...] = get_args(TemplateName)
PLACEHOLDERS: dict[TemplateName, frozenset[str]] = {
    name: frozenset({"items"}) for name in TEMPLATE_NAMES
} | {
    "system": frozenset({"marker", "additional_context", "notes", "protocol"}),
    "protocol_text": frozenset({"tool_names", "tools"}),
    "protocol_tools": frozenset({"tool_names"}),
    "question": frozenset({"question"}),
}


def _describe_names(schema: dict[str, Any]) -> None:
    """Say the names of templates in words: OpenAPI 3.0 has no `propertyNames`."""
    names = schema.pop("propertyNames", {}).get("enum", ())
    schema["description"] = f"By name: {', '.join(names)}."


class AgentSettings(SettingsSection):
    """The agent with memory (seed 004, `agent-mem`); docs/agents.md.

    The form of the console shows the descriptions.
    """

    max_iterations: Annotated[
        int, Field(ge=1, le=100, description="Most steps of one run.")
    ] = 10
    working_memory_threshold: Annotated[
        int,
        Field(
            ge=200,
            le=1_000_000,
            description="Tokens of the steps above which the oldest are condensed.",
        ),
    ] = 2_000
    keep_last_steps: Annotated[
        int, Field(ge=1, le=100, description="Last steps that are never condensed.")
    ] = 4
    fact_retrieval_top_k: Annotated[
        int, Field(ge=1, le=50, description="Most facts that a run is given.")
    ] = 5
    episode_retrieval_top_k: Annotated[
        int, Field(ge=1, le=50, description="Most episodes that a run is given.")
    ] = 3
    enable_auto_fact_extraction: Annotated[
        bool, Field(description="Learn facts when a run or a conversation ends.")
    ] = True
    enable_episode_recording: Annotated[
        bool, Field(description="Store a run that did a task as an episode.")
    ] = True
    additional_context: Annotated[
        str, Field(max_length=20_000, description="Text of every prompt of the agent.")
    ] = ""
    protocol: Annotated[
        Literal["text", "tools"],
        Field(
            description="How the model names a tool: in words (text), or by the "
            "endpoint's function calling (tools)."
        ),
    ] = "text"
    max_seconds: Annotated[
        int, Field(ge=5, le=3_600, description="Most seconds of one run.")
    ] = 300
    token_budget: Annotated[
        int,
        Field(
            ge=500,
            le=1_000_000,
            description="Tokens of a prompt for memory and steps together; the system "
            "text and the question come on top.",
        ),
    ] = 16_000
    conversation_timeout: Annotated[
        int,
        Field(
            ge=1,
            le=10_080,
            description="Minutes of silence after which a conversation has ended.",
        ),
    ] = 30
    prune_after_days: Annotated[
        Annotated[int, Field(ge=1, le=36_500)] | None,
        Field(
            description="Days until a fact or an episode that no question has found is "
            "archived; empty means never."
        ),
    ] = None
    # The project's own templates, by name; the others come from `agents/prompt/templates`.
    templates: Annotated[
        dict[TemplateName, Annotated[str, Field(max_length=10_000)]],
        Field(json_schema_extra=_describe_names),
    ] = {}

    @field_validator("templates")
    @classmethod
    def each_template_has_its_placeholders(
        cls, value: dict[TemplateName, str]
    ) -> dict[TemplateName, str]:
        for name, text in value.items():
            _refuse_wrong_placeholders(name, text)
        return value


def _refuse_wrong_placeholders(name: TemplateName, text: str) -> None:
    template = Template(text)
    if not template.is_valid():
        raise ValueError(f"{name}: write a dollar sign that is text as $$")
    found = [match["named"] or match["braced"] for match in _find_names(text)]
    if sorted(found) != sorted(PLACEHOLDERS[name]):
        listed = " ".join(f"${each}" for each in sorted(PLACEHOLDERS[name]))
        raise ValueError(f"{name}: it must have each of these once: {listed}")


def _find_names(text: str) -> list[re.Match[str]]:
    """Return the placeholders of a template; `$$` is none."""
    found = Template.pattern.finditer(text)
    return [match for match in found if match["named"] or match["braced"]]


class HookSettings(SettingsSection):
    """At which events of a session a hook gives something unasked; docs/howto/hooks.md."""

    session_start: bool = True
    subagent_start: bool = True
    prompt: bool = True
    tool_failed: bool = True


class ProjectOptions(SettingsSection):
    categories: Annotated[
        list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]],
        Field(min_length=1, max_length=50),
    ] = [
        "dependencies",
        "architecture",
        "gotchas",
        "patterns",
        "best_practices",
        "general",
    ]
    policy: Literal["manual", "assisted", "auto"] = "assisted"
    # Hosts, besides the repository's, that rules may name (docs/ace.md, "Gates").
    trusted_hosts: Annotated[list[TrustedHost], Field(max_length=50)] = []
    content_min: Annotated[int, Field(ge=1, le=1000)] = 10
    # Whether tags that differ only by the case of their letters are two tags.
    tags_by_case: bool = False
    secrets: Literal["mask", "reject", "allow"] = "mask"
    dedup: DedupSettings = DedupSettings()
    budgets: BudgetSettings = BudgetSettings()
    playbook: PlaybookSettings = PlaybookSettings()
    search: SearchSettings = SearchSettings()
    language: LanguageSettings = LanguageSettings()
    compaction: CompactionSettings = CompactionSettings()
    quotas: QuotaSettings = QuotaSettings()
    conversations: ConversationSettings = ConversationSettings()
    agents: AgentSettings = AgentSettings()
    hooks: HookSettings = HookSettings()
    # Whether one session in ten goes without a learned rule, to count what the rule changes.
    withhold: bool = True
    # Phrases that say, in any language, that a sentence holds from now on (docs/ace.md).
    lasting_phrases: Annotated[
        list[Annotated[str, Field(min_length=2, max_length=60)]], Field(max_length=100)
    ] = []

    @field_validator("categories")
    @classmethod
    def no_category_twice(cls, value: list[str]) -> list[str]:
        if len(set(value)) != len(value):
            raise ValueError("a category is listed twice")
        return value

    @field_validator("trusted_hosts")
    @classmethod
    def no_host_twice(cls, value: list[str]) -> list[str]:
        if len(set(value)) != len(value):
            raise ValueError("a host is listed twice")
        return value
