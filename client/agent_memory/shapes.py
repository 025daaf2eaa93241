# Written by client/generate.py from the OpenAPI schema; do not edit.
"""The types of bodies, queries and answers; only type checkers import them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from agent_memory.page import Page


class AcceptDeltaRequest(TypedDict):
    expected_version: NotRequired[int]
    release_reason: NotRequired[str]
    note: NotRequired[str]


class AceResult(TypedDict):
    run_id: str
    state: str
    memory_id: str
    memory_type: str
    memory_status: str
    duplicate_of: str | None
    files_linked: list[LinkedFile]
    tags: list[str]
    outcome: str
    outcome_source: NotRequired[str]
    insights: list[InsightOut]
    errors: list[ErrorOut]
    related_playbook_entries: list[RelatedEntry]
    playbook_delta: PlaybookDeltaOut
    updated_bullets: list[UpdatedBullet]
    change_id: str | None
    lessons: NotRequired[list[LessonOut]]
    abstained: NotRequired[str | None]
    notes: list[str]
    phases: dict[str, Any]
    reflect: list[LessonRequestOut]


class AddChangeRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    agent_id: NotRequired[str]
    session: NotRequired[str]
    source: NotRequired[WriteSourceEnum]
    scope: AddChangeScopeEnum
    action: AddChangeActionEnum
    before_text: NotRequired[str]
    after_text: NotRequired[str]


class AddConstraintRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    agent_id: NotRequired[str]
    session: NotRequired[str]
    text: str
    source: NotRequired[WriteSourceEnum]


class AgentErrorOut(TypedDict):
    type: str
    message: str


class AgentMemoryChangeOut(TypedDict):
    id: str
    user_id: str
    agent_id: str
    scope: str
    action: str
    source: str
    session: str
    version_before: int | None
    version_after: int | None
    before_text: str
    after_text: str
    actor: str
    created_at: str


class AgentNotesOut(TypedDict):
    agent_id: str
    profile: str
    soul: str
    constraints: list[ConstraintOut]
    version: int
    updated_at: str


class AgentRequestInRequest(TypedDict):
    collection: NotRequired[str]
    project_id: NotRequired[str]
    project: NotRequired[str]
    question: str
    state: NotRequired[str]
    group: NotRequired[list[str]]
    history: NotRequired[list[StepInRequest]]
    user: NotRequired[str | int]
    conversation_id: NotRequired[str]
    enable_memory: NotRequired[bool]
    streaming: NotRequired[bool]
    max_iterations: NotRequired[int | None]
    task: NotRequired[bool]


class AgentResponseOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    run_id: str
    status: str
    steps: list[StepOut]
    answer: str | None
    iterations: int
    tokens: TokensOut
    memory: RunMemoryOut
    pending_call: PendingCallOut | None


class AgentRunOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    run_id: str
    status: str
    steps: list[StepOut]
    answer: str | None
    iterations: int
    tokens: TokensOut
    memory: RunMemoryOut
    pending_call: PendingCallOut | None
    request: RunRequestOut
    agent_id: str
    learned: dict[str, Any]
    created_at: str
    ended_at: str | None


class AgentSettings(TypedDict):
    max_iterations: NotRequired[int]
    working_memory_threshold: NotRequired[int]
    keep_last_steps: NotRequired[int]
    fact_retrieval_top_k: NotRequired[int]
    episode_retrieval_top_k: NotRequired[int]
    enable_auto_fact_extraction: NotRequired[bool]
    enable_episode_recording: NotRequired[bool]
    additional_context: NotRequired[str]
    protocol: NotRequired[ProtocolEnum]
    max_seconds: NotRequired[int]
    token_budget: NotRequired[int]
    conversation_timeout: NotRequired[int]
    prune_after_days: NotRequired[int | None]
    templates: NotRequired[dict[str, str]]


class AgentToolListOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    tools: list[ToolDefinitionOut]


class AgentToolOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    kind: ToolKindEnum
    description: NotRequired[str]
    arguments: NotRequired[list[ToolArgumentFields]]
    definition: DefinitionFields
    timeout: NotRequired[float]
    groups: NotRequired[list[str]]
    states: NotRequired[list[str]]
    confirm: NotRequired[ConfirmEnum]
    is_enabled: NotRequired[bool]
    name: str
    asks_first: bool
    listing: ServerListingOut | None
    created_at: str
    updated_at: str


class AppendInvocationRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    user: NotRequired[str | int | None]
    query: str
    summary: NotRequired[str | None]
    result: NotRequired[str | None]
    timestamp: NotRequired[str | None]


class AppendMessagesRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    user_id: NotRequired[str | int | None]
    agent_id: NotRequired[str | None]
    channel: NotRequired[str | None]
    title: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    token_budget: NotRequired[int | None]
    source: NotRequired[WriteSourceEnum | None]
    messages: list[dict[str, Any]]


class AppendOut(TypedDict):
    first_seq: int | None
    last_seq: int | None
    count: int
    tokens: int
    needs_compaction: bool
    notes: list[str]


class AssembleRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    user_id: NotRequired[str | int | None]
    token_budget: NotRequired[int | None]
    fresh_tail: NotRequired[int | None]
    format: NotRequired[AssembleRequestFormatEnum | None]
    snapshot: NotRequired[bool | None]


class AuditOut(TypedDict):
    id: str
    at: str
    verb: str
    actor: str
    key_id: str | None
    account_id: int | None
    agent_id: str
    project_id: str | None
    object_type: str
    object_id: str
    before_hash: str
    after_hash: str
    detail: dict[str, Any]
    request_id: str
    address: str


class BatchItemOut(TypedDict):
    id: NotRequired[str | None]
    status: ReceiptStatusEnum
    duplicate_of: NotRequired[str | None]
    possible_duplicates: list[PossibleDuplicateBrief]
    searchable: dict[str, bool]
    notes: list[str]
    memory: MemoryOut | None
    status_code: int
    problem: NotRequired[dict[str, Any]]


class BatchOut(TypedDict):
    results: list[BatchItemOut]
    job_id: str | None
    waiting: int


class BeforeAfterOut(TypedDict):
    before: Any
    after: Any


class BlameOut(TypedDict):
    entry_id: str
    entry_label: str
    version: int
    parts: list[BlamePartOut]
    columns: dict[str, OriginOut]


class BlamePartOut(TypedDict):
    text: str
    change: OriginOut


class BootstrapSessionRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    channel: NotRequired[str | None]
    title: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    token_budget: NotRequired[int | None]
    key: str
    user_id: NotRequired[str | int | None]


class BudgetSettings(TypedDict):
    playbook_tokens: NotRequired[int]
    render_tokens: NotRequired[int]


class BulkDeltasRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    reason: NotRequired[str]
    action: BulkDeltasActionEnum
    ids: list[str]


class BulkItem(TypedDict):
    id: str
    status: str
    problem: NotRequired[dict[str, Any] | None]


class BulkOut(TypedDict):
    results: list[BulkItem]


class CapabilitiesOut(TypedDict):
    store: str
    capabilities: list[str]


class CardLineOut(TypedDict):
    section: CardLineOutSectionEnum
    text: str
    subject: str
    sessions: int
    last_on: str | None


class CardOut(TypedDict):
    text: str
    tokens: int
    lines: list[CardLineOut]


class ChangeOut(TypedDict):
    id: str
    project_id: str
    revision: int
    position: int
    operation: ChangeOutOperationEnum
    action: str
    entry_id: str
    entry_label: str
    before: dict[str, Any]
    after: dict[str, Any]
    diff: list[str]
    reason: str
    related_memory_id: str | None
    delta_id: str | None
    run_id: str | None
    reverts_id: str | None
    changed_by: str
    agent_id: str
    changed_at: str
    request_id: str


class ChangesOut(TypedDict):
    results: list[AgentMemoryChangeOut]


class ClaimSessionRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: str | int


class ColumnOut(TypedDict):
    before: Any
    after: Any


class CompactRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    source_ids: list[str]
    target_scope: NotRequired[ScopeRequest | None]
    content: NotRequired[str | None]
    summarize: NotRequired[bool | None]
    delete_sources: NotRequired[bool | None]
    tags: NotRequired[list[str] | None]
    metadata: NotRequired[dict[str, Any] | None]
    expires_at: NotRequired[str | None]
    dry_run: NotRequired[bool | None]


class CompactRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    mode: NotRequired[CompactionModeEnum]


class CompactionJobOut(TypedDict):
    job_id: str


class CompactionOut(TypedDict):
    id: str
    memory_id: str
    at: str
    actor: str
    reason: str
    compacted_from: list[str]
    made: dict[str, Any] | None
    is_deleted: bool


class CompactionPlanOut(TypedDict):
    dry_run: NotRequired[bool]
    status: CompactionPlanOutStatusEnum
    notes: list[str]
    memory: PlannedMemoryOut
    deleted: list[str]


class CompactionSettings(TypedDict):
    enabled: NotRequired[bool]
    older_than_days: NotRequired[int]
    at_least: NotRequired[int]
    at_most: NotRequired[int]
    kinds: NotRequired[list[CompactionSettingsKindsEnum]]
    scopes: NotRequired[list[ScopesEnum]]
    delete_sources: NotRequired[bool]


class CompleteTaskRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    goal: str
    result: NotRequired[str | None]
    tool_usage: NotRequired[list[ToolUsageRequest] | None]
    feedback: NotRequired[str | None]
    outcome: NotRequired[OutcomeEnum | None]
    feedback_source: NotRequired[FeedbackSourceEnum | None]
    cited_entry_ids: NotRequired[list[str] | None]
    injected_entry_ids: NotRequired[list[str] | None]
    session_id: NotRequired[str | None]
    branch: NotRequired[str | None]
    scope: NotRequired[ScopeRequest | None]


class ConfirmInRequest(TypedDict):
    allow: bool
    streaming: NotRequired[bool]


class ConflictDecisionRequest(TypedDict):
    note: NotRequired[str]
    left_expected_version: NotRequired[int]
    right_expected_version: NotRequired[int]


class ConflictOut(TypedDict):
    id: str
    project_id: str
    state: ConflictOutStateEnum
    reason: str
    left: SideOut
    right: SideOut
    created_at: str
    decided_by: str
    decided_at: str | None
    decided_with: list[str]
    note: str


class ConstraintOut(TypedDict):
    id: str
    text: str
    created_at: str


class ConstraintsOut(TypedDict):
    constraints: list[ConstraintOut]
    version: int


class ContextMessageOut(TypedDict):
    role: str
    content: str
    parts: list[dict[str, Any]]
    tokens: int
    seq: NotRequired[int]
    summary_id: NotRequired[str]


class ContextOut(TypedDict):
    messages: list[ContextMessageOut]
    tokens: int
    tail: TailOut
    left_out: list[OmissionOut]
    system: NotRequired[str]


class ConversationAnswer(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    conversation: ConversationOut


class ConversationOut(TypedDict):
    conversation_id: str
    user: str
    agent_id: str
    session_id: str
    invocations: list[InvocationOut]
    invocation_count: int
    metadata: dict[str, Any]
    enabled: bool
    ended_at: str | None


class ConversationSettings(TypedDict):
    store: NotRequired[StoreEnum]
    token_budget: NotRequired[int]
    summarizer: NotRequired[SummarizerEnum]
    sessions_per_user: NotRequired[int]
    messages_per_session: NotRequired[int]
    archive_after_days: NotRequired[int | None]
    purge_after_days: NotRequired[int | None]
    learn_from_transcripts: NotRequired[bool]


class CountOut(TypedDict):
    operation: str
    status: str
    count: int
    known: int


class CreateDeltaRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    content: NotRequired[str]
    category: NotRequired[str]
    condition: NotRequired[str]
    action: NotRequired[str]
    tags: NotRequired[list[str]]
    applies_to: NotRequired[list[str]]
    priority: NotRequired[int]
    pinned: NotRequired[bool]
    locked: NotRequired[bool]
    review_after: NotRequired[str | None]
    reason: NotRequired[str]
    expected_version: NotRequired[int]
    operation: CreateDeltaOperationEnum
    entry_id: NotRequired[str]
    targets: NotRequired[list[TargetInRequest]]
    evidence: NotRequired[list[QuoteInRequest]]
    memory_id: NotRequired[str]
    observation_id: NotRequired[str]
    agent_id: NotRequired[str]
    producer: NotRequired[ProposerEnum]
    producer_name: NotRequired[str]


class CreateEntryRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    content: str
    category: NotRequired[str]
    condition: NotRequired[str]
    action: NotRequired[str]
    tags: NotRequired[list[str]]
    applies_to: NotRequired[list[str]]
    priority: NotRequired[int]
    pinned: NotRequired[bool]
    locked: NotRequired[bool]
    review_after: NotRequired[str | None]
    reason: NotRequired[str]


class CreateMemoriesRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    memories: list[dict[str, Any]]


class CreateMemoryRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    title: NotRequired[str | None]
    value: NotRequired[Any]
    goal: NotRequired[str | None]
    result: NotRequired[str | None]
    feedback: NotRequired[str | None]
    tool_usage: NotRequired[list[dict[str, Any]] | None]
    steps: NotRequired[list[str] | None]
    outcome: NotRequired[str | None]
    lessons: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    file_paths: NotRequired[list[str] | None]
    metadata: NotRequired[dict[str, Any] | None]
    sensitivity: NotRequired[SensitivityEnum | None]
    confidence: NotRequired[float | None]
    occurred_at: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    content: str
    memory_type: NotRequired[MemoryTypeEnum | None]
    kind: NotRequired[MemoryKindEnum | None]
    agent_id: NotRequired[str | None]
    user_id: NotRequired[str | None]
    key: NotRequired[str | None]
    files: NotRequired[list[FileRefRequest] | None]
    scope: NotRequired[ScopeRequest | None]
    source: NotRequired[MemorySourceEnum | None]
    created_in_session_id: NotRequired[str | None]
    provenance: NotRequired[dict[str, Any] | None]


class CreateProjectRequest(TypedDict):
    name: str
    description: NotRequired[str]
    repository_url: NotRequired[str]
    current_branch: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    organization: NotRequired[str]


class CreateTagRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    name: str
    description: NotRequired[str]
    category: NotRequired[str]


class CreateToolRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    kind: ToolKindEnum
    description: NotRequired[str]
    arguments: NotRequired[list[ToolArgumentFieldsRequest]]
    definition: DefinitionFieldsRequest
    timeout: NotRequired[float]
    groups: NotRequired[list[str]]
    states: NotRequired[list[str]]
    confirm: NotRequired[ConfirmEnum]
    is_enabled: NotRequired[bool]
    name: str


class DedupSettings(TypedDict):
    enabled: NotRequired[bool]
    threshold: NotRequired[float]


class DeduplicationOut(TypedDict):
    id: str
    project_id: str
    state: str
    progress: dict[str, Any]
    threshold: float
    apply: bool
    result: dict[str, Any]
    error: str
    created_at: str
    finished_at: str | None
    pairs: list[FindingOut]
    pairs_after: str | None


class DefinitionFields(TypedDict):
    method: NotRequired[MethodEnum]
    url: str
    query: NotRequired[dict[str, str]]
    headers: NotRequired[dict[str, str]]
    body: NotRequired[Any]


class DefinitionFieldsRequest(TypedDict):
    method: NotRequired[MethodEnum]
    url: str
    query: NotRequired[dict[str, str]]
    headers: NotRequired[dict[str, str]]
    body: NotRequired[Any]


class DeleteByScopeRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    scope: ScopeRequest


class DeleteCountOut(TypedDict):
    deleted: int


class DeltaOperationOut(TypedDict):
    delta_id: str
    operation: str
    status: str
    entry_id: str | None
    entry_label: str | None
    content: str
    reason: str


class DeltaOut(TypedDict):
    id: str
    project_id: str
    operation: DeltaOperationEnum
    status: DeltaStatusEnum
    risk: str
    entry_id: str | None
    entry_label: str | None
    expected_version: int | None
    targets: list[dict[str, Any]]
    content: str
    category: str
    payload: dict[str, Any]
    suggested: dict[str, Any]
    reason: str
    evidence: list[QuoteOut]
    gates: list[GateOut]
    producer: AuthorEnum
    producer_name: str
    producer_version: str
    proposed_by: str
    agent_id: str
    run_id: str | None
    memory_id: str | None
    seen_again: int
    reviewer: str
    review_note: str
    reviewed_at: str | None
    created_at: str
    version: int
    actions: list[ActionsEnum]


class DescendantOut(TypedDict):
    kind: str
    id: str
    how: str
    is_purged: bool


class DescribeOut(TypedDict):
    summary_id: str
    kind: str
    depth: int
    content: str
    earliest_at: str
    latest_at: str
    descendant_count: int
    parent_ids: list[str]
    child_ids: list[str]


class DifferenceOut(TypedDict):
    entry_id: str
    entry_label: str
    kind: DifferenceOutKindEnum
    columns: dict[str, BeforeAfterOut]
    words: list[WordsOut]


class DigestConfigOut(TypedDict):
    project_id: str
    agent_id: str
    config: dict[str, Any]
    effective: dict[str, Any]
    version: int
    updated_by: str
    updated_at: str


class DigestOut(TypedDict):
    text: str
    included: list[IncludedLineOut]
    omitted: list[OmittedLineOut]
    counts: dict[str, int]
    used: dict[str, dict[str, int]]
    behind: dict[str, bool]
    notes: list[str]


class DigestRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    agent_id: NotRequired[str]
    query: NotRequired[str]
    scope: NotRequired[ScopeRequest | None]
    scopes: NotRequired[list[ScopeRequest]]
    overrides: NotRequired[dict[str, Any]]
    explain: NotRequired[bool]


class DriftOut(TypedDict):
    entry_id: str
    entry_label: str
    version: int
    columns: dict[str, ColumnOut]


class EditDeltaRequest(TypedDict):
    expected_version: NotRequired[int]
    release_reason: NotRequired[str]
    note: NotRequired[str]
    content: NotRequired[str]
    category: NotRequired[str]
    condition: NotRequired[str]
    action: NotRequired[str]
    tags: NotRequired[list[str]]
    applies_to: NotRequired[list[str]]
    priority: NotRequired[int]
    pinned: NotRequired[bool]
    locked: NotRequired[bool]
    review_after: NotRequired[str | None]


class EndConversationRequest(TypedDict):
    collection: NotRequired[str]
    project_id: NotRequired[str]
    project: NotRequired[str]
    user: NotRequired[str | int]


class EntryDetail(TypedDict):
    id: str
    project_id: str
    label: str
    content: str
    category: str
    condition: str
    action: str
    tags: list[str]
    applies_to: list[str]
    priority: int
    status: EntryStatusEnum
    helpful: int
    harmful: int
    neutral: int
    author_kind: AuthorEnum
    locked: bool
    pinned: bool
    created_at: str
    created_by: str
    updated_at: str
    verified_at: str | None
    review_after: str | None
    version: int
    merged_from: list[str]
    aliases: list[str]
    is_active: bool
    superseded_by: str | None
    supporting_memory_ids: list[str]
    support_count: int
    is_embedded: bool
    is_contested: bool
    confidence: float
    is_due: bool
    is_suspect: bool
    suspect_files: list[str]
    line: str
    tokens: int
    use: UseOut


class EntryOut(TypedDict):
    id: str
    project_id: str
    label: str
    content: str
    category: str
    condition: str
    action: str
    tags: list[str]
    applies_to: list[str]
    priority: int
    status: EntryStatusEnum
    helpful: int
    harmful: int
    neutral: int
    author_kind: AuthorEnum
    locked: bool
    pinned: bool
    created_at: str
    created_by: str
    updated_at: str
    verified_at: str | None
    review_after: str | None
    version: int
    merged_from: list[str]
    aliases: list[str]
    is_active: bool
    superseded_by: str | None
    supporting_memory_ids: list[str]
    support_count: int
    is_embedded: bool
    is_contested: bool
    confidence: float
    is_due: bool
    is_suspect: bool
    suspect_files: list[str]


class EpisodeAnswer(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    episode: EpisodeOut


class EpisodeHitOut(TypedDict):
    id: str
    content: str
    source: str
    user: str
    origin: str
    confidence: float | None
    timestamp: str
    metadata: dict[str, Any]
    tags: list[str]
    goal: str
    steps: list[Any]
    outcome: str
    lessons: str
    score: float
    relevant: bool
    snippet: str
    embedding: NotRequired[list[float]]


class EpisodeOut(TypedDict):
    id: str
    content: str
    source: str
    user: str
    origin: str
    confidence: float | None
    timestamp: str
    metadata: dict[str, Any]
    tags: list[str]
    goal: str
    steps: list[Any]
    outcome: str
    lessons: str


class EpisodesAnswer(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    episodes: list[EpisodeHitOut]
    notes: NotRequired[list[str]]


class ErrorOut(TypedDict):
    error_type: str
    message: str
    root_cause: str
    evidence: list[EvidenceOut]


class EvidenceOut(TypedDict):
    kind: str
    code: str | None
    error_type: str
    message: str
    field: str
    start: int
    end: int
    signature: str
    quote: str


class ExpandChildOut(TypedDict):
    summary_id: str
    kind: str
    depth: int
    content: str


class ExpandMessageOut(TypedDict):
    message_id: str
    seq: int
    role: str
    content: str
    created_at: str


class ExpandOut(TypedDict):
    summary_id: str
    messages: list[ExpandMessageOut]
    children: list[ExpandChildOut]
    truncated: bool
    next_after_seq: int | None


class FactAnswer(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    fact: FactOut


class FactHitOut(TypedDict):
    id: str
    content: str
    source: str
    user: str
    origin: str
    confidence: float | None
    timestamp: str
    metadata: dict[str, Any]
    tags: list[str]
    key: str
    value: Any
    score: float
    relevant: bool
    snippet: str
    embedding: NotRequired[list[float]]


class FactOut(TypedDict):
    id: str
    content: str
    source: str
    user: str
    origin: str
    confidence: float | None
    timestamp: str
    metadata: dict[str, Any]
    tags: list[str]
    key: str
    value: Any


class FactsAnswer(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    facts: list[FactHitOut]
    notes: NotRequired[list[str]]


class FileLink(TypedDict):
    file_id: str
    file_path: str
    relation_type: str
    line_start: int | None
    line_end: int | None
    suspect_since: str | None


class FileOut(TypedDict):
    id: str
    project_id: str
    file_path: str
    file_type: str
    last_content_hash: str
    renamed_from: list[str]
    memory_count: int
    first_seen_at: str | None
    last_seen_at: str | None


class FileRefRequest(TypedDict):
    file_path: str
    relation_type: NotRequired[RelationTypeEnum | None]
    line_start: NotRequired[int | None]
    line_end: NotRequired[int | None]
    content_hash: NotRequired[str | None]


class FindingOut(TypedDict):
    memory_id: str
    original_id: str
    similarity: float
    why_not_merged: str


class FixOut(TypedDict):
    text: str
    kind: FixOutKindEnum
    signature: str
    failed: str
    worked: str
    removed: list[str]
    added: list[str]
    times: int
    sessions: int
    share: float
    last_seen_at: str
    run_id: str
    is_own: bool
    entry_id: NotRequired[str | None]
    entry_label: NotRequired[str | None]


class ForkSessionRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    seq: int
    key: str


class GateOut(TypedDict):
    name: str
    verdict: VerdictEnum
    value: Any
    threshold: Any
    message: str


class GivenMemoryOut(TypedDict):
    facts: list[str]
    episodes: list[str]
    entries: list[str]
    invocations: list[str]
    error: str | None


class GraphOut(TypedDict):
    file: FileOut
    memories: dict[str, list[MemoryBrief]]
    suspect_memory_ids: list[str]
    playbook_entries: list[EntryOut]
    related_files: list[RelatedFileOut]
    stats: GraphStats


class GraphStats(TypedDict):
    memory_count: int
    relations: dict[str, int]
    memory_types: dict[str, int]
    tags: dict[str, int]
    first_seen_at: str | None
    last_seen_at: str | None


class GroupOut(TypedDict):
    scope: dict[str, str]
    kind: str
    sensitivity: str
    expires_at: str | None
    source_ids: list[str]


class HitOut(TypedDict):
    memory: MemoryOut
    score: float
    lanes: dict[str, LaneOut]
    snippet: str
    snippet_field: str
    relevant: bool
    files: list[FileLink]


class HookSettings(TypedDict):
    session_start: NotRequired[bool]
    subagent_start: NotRequired[bool]
    prompt: NotRequired[bool]
    tool_failed: NotRequired[bool]


class HookStatusOut(TypedDict):
    harness: str
    agent_id: str
    key_id: str
    last_event: str
    last_at: str
    events: dict[str, int]


class ImportInRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    release_reason: NotRequired[str]
    content: str
    format: NotRequired[ImportInFormatEnum]
    category: NotRequired[str]
    producer: NotRequired[ProposerEnum]
    producer_name: NotRequired[str]


class ImportOut(TypedDict):
    deltas: list[CountOut]
    waiting: list[str]
    unparsed: list[UnparsedLineOut]
    notes: list[str]
    restored: int | None


class InProjectRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]


class InSessionRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]


class IncludedLineOut(TypedDict):
    id: str
    kind: str
    sources: list[str]
    scores: dict[str, float]
    rank: int
    cost: dict[str, int]
    is_cut: bool


class InsightOut(TypedDict):
    insight_type: str
    content: str
    confidence: float
    evidence: list[EvidenceOut]


class InvocationAnswer(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    success: bool
    invocation_id: str


class InvocationContextOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    parts: list[PromptPartOut]
    system: str
    text: str
    messages: list[PromptMessageOut]
    tokens: int
    cut: list[str]
    memory: GivenMemoryOut


class InvocationContextRequestRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    question: str
    state: NotRequired[str | None]
    user: NotRequired[str | int | None]
    conversation_id: NotRequired[str | None]
    token_budget: NotRequired[int | None]


class InvocationOut(TypedDict):
    id: str
    query: str
    summary: str
    result: str
    timestamp: str
    run_id: str | None


class IssueKeyRequest(TypedDict):
    name: str
    role: NotRequired[RoleEnum]
    projects: NotRequired[list[str]]
    agent_id: NotRequired[str]
    user_id: NotRequired[str]
    expires_at: NotRequired[str | None]
    may_attest: NotRequired[bool]


class IssuedKeyOut(TypedDict):
    id: str
    name: str
    prefix: str
    role: RoleEnum
    everywhere: bool
    projects: list[str]
    agent_id: str
    user_id: str
    may_attest: bool
    created_by: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    replaced_by: str | None
    line_id: str
    secret: str | None


class JobOut(TypedDict):
    id: str
    kind: str
    project_id: str | None
    state: JobStateEnum
    progress: ProgressOut
    attempts: int
    args: dict[str, Any]
    result: dict[str, Any]
    error: str
    run_after: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class KeyOut(TypedDict):
    id: str
    name: str
    prefix: str
    role: RoleEnum
    everywhere: bool
    projects: list[str]
    agent_id: str
    user_id: str
    may_attest: bool
    created_by: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    replaced_by: str | None
    line_id: str


class KindQuotas(TypedDict):
    note: NotRequired[int | None]
    fact: NotRequired[int | None]
    procedure: NotRequired[int | None]
    episode: NotRequired[int | None]


class KnownFixOut(TypedDict):
    fix: FixOut | None


class KnownFixRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    tool: str
    arguments: NotRequired[Any]
    error: str
    cwd: NotRequired[str | None]
    agent_id: NotRequired[str | None]
    scope: NotRequired[ScopeRequest | None]


class LaneOut(TypedDict):
    rank: int
    score: float


class LanguageSettings(TypedDict):
    enabled: NotRequired[bool]
    tokens_per_day: NotRequired[int]
    cost_per_day: NotRequired[float | None]


class LessonOut(TypedDict):
    content: str
    category: str
    root_cause: str
    confidence: float
    producer: LessonOutProducerEnum


class LessonRequestOut(TypedDict):
    observation_id: str
    kind: LessonRequestOutKindEnum
    evidence: list[ObservedQuote]
    ask: str


class LinkedFile(TypedDict):
    file_path: str
    relation_type: str
    line_start: int | None
    line_end: int | None


class MemberOut(TypedDict):
    username: str
    role: RoleEnum
    created_at: str


class MemoryBrief(TypedDict):
    id: str
    memory_type: MemoryTypeEnum
    kind: MemoryKindEnum
    title: str
    content: str
    tags: list[str]
    created_at: str


class MemoryChangeOut(TypedDict):
    id: str
    memory_id: str
    action: MemoryChangeOutActionEnum
    actor: str
    agent_id: str
    source: str
    before: Any
    after: Any
    reason: str
    request_id: str
    at: str


class MemoryDetail(TypedDict):
    id: str
    project_id: str
    organization_id: str
    agent_id: str
    user_id: str
    memory_type: MemoryTypeEnum
    kind: MemoryKindEnum
    title: str
    key: str
    value: Any
    content: str
    goal: str
    result: str
    feedback: str
    tool_usage: Any
    steps: Any
    outcome: str
    lessons: str
    tags: list[str]
    files: list[FileLink]
    metadata: dict[str, Any]
    scope: Scope
    sensitivity: SensitivityEnum
    confidence: float | None
    source: MemorySourceEnum
    promoted_from: str | None
    compacted_from: list[str]
    compaction: dict[str, Any]
    created_in_session_id: str
    provenance: dict[str, Any]
    similarity_hash: str
    is_duplicate: bool
    duplicate_of: str | None
    superseded_by: str | None
    created_at: str
    updated_at: str
    occurred_at: str | None
    expires_at: str | None
    verified_at: str | None
    archived_at: str | None
    version: int
    lineage: dict[str, Any]
    searchable: dict[str, bool]


class MemoryOut(TypedDict):
    id: str
    project_id: str
    organization_id: str
    agent_id: str
    user_id: str
    memory_type: MemoryTypeEnum
    kind: MemoryKindEnum
    title: str
    key: str
    value: Any
    content: str
    goal: str
    result: str
    feedback: str
    tool_usage: Any
    steps: Any
    outcome: str
    lessons: str
    tags: list[str]
    files: list[FileLink]
    metadata: dict[str, Any]
    scope: Scope
    sensitivity: SensitivityEnum
    confidence: float | None
    source: MemorySourceEnum
    promoted_from: str | None
    compacted_from: list[str]
    compaction: dict[str, Any]
    created_in_session_id: str
    provenance: dict[str, Any]
    similarity_hash: str
    is_duplicate: bool
    duplicate_of: str | None
    superseded_by: str | None
    created_at: str
    updated_at: str
    occurred_at: str | None
    expires_at: str | None
    verified_at: str | None
    archived_at: str | None
    version: int


class MemoryToolCallRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    actions: NotRequired[list[str]]
    read_only_profile: NotRequired[bool]
    read_only_soul: NotRequired[bool]
    action: str
    pattern: NotRequired[str]
    summary_id: NotRequired[str]
    token_cap: NotRequired[int]
    content: NotRequired[str]
    source: NotRequired[MemoryToolCallSourceEnum]
    scope: NotRequired[AgentMemoryTextEnum]
    limit: NotRequired[int]
    version: NotRequired[int]
    constraint_text: NotRequired[str]
    constraint_id: NotRequired[str]


class MergeDeltaRequest(TypedDict):
    expected_version: NotRequired[int]
    release_reason: NotRequired[str]
    note: NotRequired[str]
    entry_id: str
    content: NotRequired[str]
    entry_version: NotRequired[int]


class MergeTagRequest(TypedDict):
    into: str


class MessageOut(TypedDict):
    id: str
    seq: int
    role: str
    content: str
    parts: list[dict[str, Any]]
    tokens: int
    external_id: str
    metadata: dict[str, Any]
    created_at: str


class MissingVectorsOut(TypedDict):
    waiting: int
    failed: int
    oldest: str | None


class NeedOut(TypedDict):
    needed: bool
    tokens: int
    budget: int


class NoteRequest(TypedDict):
    note: NotRequired[str]


class ObjectRequest(TypedDict):
    object_type: str
    object_id: str


class ObjectScope(TypedDict):
    kind: ObjectScopeKindEnum
    object_type: str
    object_id: str


class ObservationOut(TypedDict):
    id: str
    signature: str
    root_cause: str
    seen: Any
    created_at: str


class ObservedQuote(TypedDict):
    field: str
    start: int
    end: int
    quote: str


class OfferedToolOut(TypedDict):
    name: str
    server_name: str
    description: str
    arguments: list[ToolArgumentFields]
    asks_first: bool


class OmissionOut(TypedDict):
    from_seq: int
    to_seq: int
    tokens: int
    why: str


class OmittedLineOut(TypedDict):
    id: str
    kind: str
    sources: list[str]
    rank: int
    reason: str


class OrgScope(TypedDict):
    kind: OrgScopeKindEnum
    org_id: NotRequired[str]


class OriginOut(TypedDict):
    change_id: str
    revision: int
    action: str
    actor: str
    agent_id: str
    delta_id: str | None
    run_id: str | None
    changed_at: str
    reason: str


class PatchedChangeKeyRequest(TypedDict):
    may_attest: NotRequired[bool]


class PatchedChangeProjectRequest(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str]
    repository_url: NotRequired[str]
    current_branch: NotRequired[str]
    settings: NotRequired[dict[str, Any]]
    version: NotRequired[int]


class PatchedSwitchMemoryRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    enabled: NotRequired[bool]


class PatchedUpdateConversationRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    user: NotRequired[str | int | None]
    metadata: NotRequired[dict[str, Any] | None]
    enabled: NotRequired[bool | None]


class PatchedUpdateEntryRequest(TypedDict):
    content: NotRequired[str]
    category: NotRequired[str]
    condition: NotRequired[str]
    action: NotRequired[str]
    tags: NotRequired[list[str]]
    applies_to: NotRequired[list[str]]
    priority: NotRequired[int]
    pinned: NotRequired[bool]
    locked: NotRequired[bool]
    review_after: NotRequired[str | None]
    reason: NotRequired[str]
    expected_version: NotRequired[int]


class PatchedUpdateMemoryRequest(TypedDict):
    title: NotRequired[str | None]
    value: NotRequired[Any]
    goal: NotRequired[str | None]
    result: NotRequired[str | None]
    feedback: NotRequired[str | None]
    tool_usage: NotRequired[list[dict[str, Any]] | None]
    steps: NotRequired[list[str] | None]
    outcome: NotRequired[str | None]
    lessons: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    file_paths: NotRequired[list[str] | None]
    metadata: NotRequired[dict[str, Any] | None]
    sensitivity: NotRequired[SensitivityEnum | None]
    confidence: NotRequired[float | None]
    occurred_at: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    content: NotRequired[str | None]
    memory_type: NotRequired[MemoryTypeEnum | None]
    version: NotRequired[int | None]


class PatchedUpdateSessionRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    user_id: NotRequired[str | int | None]
    title: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    token_budget: NotRequired[int | None]
    archived: NotRequired[bool | None]


class PatchedUpdateTagRequest(TypedDict):
    name: NotRequired[str]
    description: NotRequired[str]
    category: NotRequired[str]


class PendingCallOut(TypedDict):
    thought: str
    action: str
    arguments: dict[str, Any]
    call_id: str


class PersonCounts(TypedDict):
    agent_memories: int
    changes: int
    sessions: int
    messages: int
    memories: int


class PersonOut(TypedDict):
    user_id: str
    enabled: bool
    agent_memories: list[AgentNotesOut]
    sessions: list[SessionOut]
    memories: list[MemoryOut]
    counts: PersonCounts


class PlanOut(TypedDict):
    policy: dict[str, Any]
    groups: list[GroupOut]
    more: bool
    unrecalled: PrunePlan


class PlannedMemoryOut(TypedDict):
    project_id: str
    organization_id: str
    agent_id: str
    user_id: str
    memory_type: MemoryTypeEnum
    kind: MemoryKindEnum
    title: str
    key: str
    value: Any
    content: str
    goal: str
    result: str
    feedback: str
    tool_usage: Any
    steps: Any
    outcome: str
    lessons: str
    tags: list[str]
    files: list[FileLink]
    metadata: dict[str, Any]
    scope: Scope
    sensitivity: SensitivityEnum
    confidence: float | None
    source: MemorySourceEnum
    promoted_from: str | None
    compacted_from: list[str]
    compaction: dict[str, Any]
    created_in_session_id: str
    provenance: dict[str, Any]
    similarity_hash: str
    is_duplicate: bool
    duplicate_of: str | None
    superseded_by: str | None
    occurred_at: str | None
    expires_at: str | None
    verified_at: str | None
    archived_at: str | None


class PlaybookDeltaOut(TypedDict):
    operations: list[DeltaOperationOut]
    summary: str


class PlaybookSettings(TypedDict):
    review_days: NotRequired[int | None]


class PossibleDuplicateBrief(TypedDict):
    id: str
    similarity: float
    why_not_merged: str


class PossibleDuplicateOut(TypedDict):
    id: str
    memory: MemoryOut
    other: MemoryOut
    similarity: float
    why_not_merged: str
    state: PossibleDuplicateOutStateEnum
    decided_by: str
    decided_at: str | None
    note: str
    created_at: str


class Problem(TypedDict):
    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: dict[str, list[str]]
    request_id: str


class ProgressOut(TypedDict):
    done: int
    total: int | None


class ProjectOptions(TypedDict):
    categories: NotRequired[list[str]]
    policy: NotRequired[PolicyEnum]
    trusted_hosts: NotRequired[list[str]]
    content_min: NotRequired[int]
    secrets: NotRequired[SecretsEnum]
    dedup: NotRequired[DedupSettings]
    budgets: NotRequired[BudgetSettings]
    playbook: NotRequired[PlaybookSettings]
    review: NotRequired[ReviewSettings]
    search: NotRequired[SearchSettings]
    language: NotRequired[LanguageSettings]
    compaction: NotRequired[CompactionSettings]
    quotas: NotRequired[QuotaSettings]
    conversations: NotRequired[ConversationSettings]
    agents: NotRequired[AgentSettings]
    hooks: NotRequired[HookSettings]
    root_causes: NotRequired[list[RootCause]]


class ProjectOut(TypedDict):
    id: str
    name: str
    organization: str
    description: str
    repository_url: str
    current_branch: str
    settings: ProjectOptions
    version: int
    created_at: str
    updated_at: str
    delete_after: str | None


class PromoteRequest(TypedDict):
    target_scope: ScopeRequest
    delete_original: NotRequired[bool | None]
    content: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class PromptItemOut(TypedDict):
    id: str
    text: str
    at: str | None
    why: str
    score: float | None


class PromptMessageOut(TypedDict):
    role: str
    content: str


class PromptPartOut(TypedDict):
    name: str
    text: str
    tokens: int
    items: list[PromptItemOut]
    cut: str


class ProofOut(TypedDict):
    is_purged: bool
    texts: list[PurgedTextOut]


class ProofRequestRequest(TypedDict):
    text: str


class PrunePlan(TypedDict):
    count: int
    ids: list[str]


class PurgeOut(TypedDict):
    id: str
    project_id: str
    state: PurgeStateEnum
    selection: Any
    cascade: bool
    reason: str
    counts: dict[str, int]
    descendants: list[DescendantOut]
    actor: str
    job_id: str | None
    created_at: str
    done_at: str | None


class PurgePlanOut(TypedDict):
    dry_run: NotRequired[bool]
    counts: dict[str, int]
    descendants: list[DescendantOut]


class PurgeReceiptOut(TypedDict):
    id: str
    project_id: str
    state: PurgeStateEnum
    selection: Any
    cascade: bool
    reason: str
    counts: dict[str, int]
    descendants: list[DescendantOut]
    actor: str
    job_id: str | None
    created_at: str
    done_at: str | None
    texts: list[PurgedTextOut]
    texts_after: str | None


class PurgeRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    ids: NotRequired[list[str]]
    scope: NotRequired[ScopeRequest]
    user_id: NotRequired[str]
    session_id: NotRequired[str]
    object: NotRequired[ObjectRequest]
    cascade: NotRequired[bool]
    dry_run: NotRequired[bool]
    reason: str


class PurgedTextOut(TypedDict):
    hmac: str
    table: str
    column: str
    row_id: str


class PutDigestConfigRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    agent_id: NotRequired[str]
    config: dict[str, Any]
    expected_version: NotRequired[int]


class PutSecretRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    value: str


class PutToolRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    kind: ToolKindEnum
    description: NotRequired[str]
    arguments: NotRequired[list[ToolArgumentFieldsRequest]]
    definition: DefinitionFieldsRequest
    timeout: NotRequired[float]
    groups: NotRequired[list[str]]
    states: NotRequired[list[str]]
    confirm: NotRequired[ConfirmEnum]
    is_enabled: NotRequired[bool]


class QuotaOut(TypedDict):
    name: str
    of: str
    limit: int
    used: int
    most: int
    is_reached: bool
    is_full: bool


class QuotaSettings(TypedDict):
    memories: NotRequired[int | None]
    per_user: NotRequired[int | None]
    per_kind: NotRequired[KindQuotas]


class QuoteInRequest(TypedDict):
    field: str
    start: int
    end: int
    quote: str


class QuoteOut(TypedDict):
    field: str
    start: int
    end: int
    quote: str


class RebaseOut(TypedDict):
    delta: DeltaOut
    changed: list[DriftOut]


class ReceiptOut(TypedDict):
    id: NotRequired[str | None]
    status: ReceiptStatusEnum
    duplicate_of: NotRequired[str | None]
    possible_duplicates: list[PossibleDuplicateBrief]
    searchable: dict[str, bool]
    notes: list[str]
    memory: MemoryOut | None


class RecommendedFileOut(TypedDict):
    file_path: str
    score: float
    memory_ids: list[str]
    reason: str
    purpose: str
    test_path: str


class RedactMessageRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    reason: str


class ReflectionOut(TypedDict):
    outcome: str
    outcome_source: str
    outcome_confidence: float
    outcome_reason: str
    error_identification: str
    root_cause: str
    correct_approach: str
    key_insight: str
    evidence: Any
    insights: Any
    lessons: Any
    votes: Any
    related: Any
    abstained: str
    producer: str
    producer_name: str
    producer_version: str
    notes: Any
    created_at: str


class RejectDeltaRequest(TypedDict):
    expected_version: NotRequired[int]
    reason: str
    reason_code: NotRequired[ReasonCodeEnum]


class RelatedEntry(TypedDict):
    id: str
    label: str
    content: str
    similarity: float


class RelatedFileOut(TypedDict):
    file_path: str
    shared_memories: int
    strength: float


class RelevantMemoryOut(TypedDict):
    memory: MemoryOut
    score: float
    snippet: str
    snippet_field: str
    reason: str
    line: str
    contradicts: list[str]


class RelevantRuleOut(TypedDict):
    entry: EntryOut
    score: float
    reason: str
    section: RelevantRuleOutSectionEnum


class RenameFileRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    old_path: str
    new_path: str


class RenderOut(TypedDict):
    text: str
    entries: list[RenderedEntryOut]
    revision: int
    tokens: int
    token_budget: int
    left_out: SkippedCounts
    notes: list[str]


class RenderedEntryOut(TypedDict):
    id: str
    label: str
    version: int
    relevance: float | None
    is_relevant: bool | None
    reason: str
    is_contested: bool
    is_due: bool
    suspect_files: list[str]


class ReopenConflictRequest(TypedDict):
    release_reason: NotRequired[str]
    decided_at: NotRequired[str]


class ReopenDeltaRequest(TypedDict):
    expected_version: NotRequired[int]
    release_reason: NotRequired[str]


class RestoreResultOut(TypedDict):
    restored: list[MemoryOut]


class RetrieveEpisodesRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    query: NotRequired[str | None]
    embedding: NotRequired[list[float] | None]
    user: NotRequired[str | int | None]
    include_embedding: NotRequired[bool | None]
    top_k: NotRequired[int | None]


class RetrieveFactsRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    query: NotRequired[str | None]
    embedding: NotRequired[list[float] | None]
    user: NotRequired[str | int | None]
    include_embedding: NotRequired[bool | None]
    top_k: NotRequired[int | None]


class RevertInRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    reason: NotRequired[str]
    release_reason: NotRequired[str]
    change: NotRequired[str]
    delta: NotRequired[str]
    run: NotRequired[str]
    revision: NotRequired[int]
    from_revision: NotRequired[int]
    to_revision: NotRequired[int]


class RevertOut(TypedDict):
    revision: int
    change_count: int
    entry_count: int
    entries: list[RevertedEntry]
    delta_count: int
    deltas: list[RevertedDelta]
    notes: list[str]


class RevertedDelta(TypedDict):
    id: str
    operation: DeltaOperationEnum
    status: DeltaStatusEnum


class RevertedEntry(TypedDict):
    id: str
    label: str
    status: EntryStatusEnum
    version: int


class ReviewOut(TypedDict):
    text: str
    tokens: int


class ReviewSettings(TypedDict):
    alarm_hours: NotRequired[int | None]
    webhook_url: NotRequired[str]
    email: NotRequired[str]


class RollBackRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    agent_id: NotRequired[str]
    session: NotRequired[str]
    scope: AgentMemoryTextEnum
    version: int


class RootCause(TypedDict):
    code: str
    words: list[str]


class RotateKeyRequest(TypedDict):
    overlap_hours: NotRequired[int]


class RunDetail(TypedDict):
    id: str
    project_id: str
    agent_id: str
    actor: str
    state: RunStateEnum
    phases: Any
    memory_id: str | None
    created_at: str
    finished_at: str | None
    request: Any
    result: dict[str, Any]
    reflection: ReflectionOut | None
    observations: list[ObservationOut]


class RunMemoryOut(TypedDict):
    facts: list[str]
    episodes: list[str]
    entries: list[str]
    conversation: list[str]
    digest: list[str]
    error: str | None


class RunOut(TypedDict):
    id: str
    project_id: str
    agent_id: str
    actor: str
    state: RunStateEnum
    phases: Any
    memory_id: str | None
    created_at: str
    finished_at: str | None


class RunRequestOut(TypedDict):
    question: str
    state: str
    group: list[str]
    user: str
    conversation_id: str
    enable_memory: bool
    streaming: bool
    max_iterations: int | None
    task: bool


class SearchAnswer(TypedDict):
    hits: list[HitOut]
    took_ms: float
    mode: str
    notes: list[str]
    explanation: NotRequired[dict[str, Any] | None]


class SearchEpisodesRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    query: NotRequired[str | None]
    embedding: NotRequired[list[float] | None]
    user: NotRequired[str | int | None]
    include_embedding: NotRequired[bool | None]
    top_k: NotRequired[int | None]
    mode: NotRequired[SearchModeEnum | None]
    syntax: NotRequired[SyntaxEnum | None]
    cutoff: NotRequired[CutoffEnum | None]
    min_score: NotRequired[float | None]
    outcome: NotRequired[str | None]
    tags: NotRequired[list[str] | None]
    tags_match: NotRequired[TagsMatchEnum | None]
    date_from: NotRequired[str | None]
    date_to: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class SearchRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    memory_types: NotRequired[list[MemoryTypeEnum]]
    kinds: NotRequired[list[MemoryKindEnum]]
    tags: NotRequired[list[str]]
    tags_match: NotRequired[TagsMatchEnum]
    file_paths: NotRequired[list[str]]
    agent_ids: NotRequired[list[str]]
    date_from: NotRequired[str | None]
    date_to: NotRequired[str | None]
    scope: NotRequired[ScopeRequest | None]
    sensitivities: NotRequired[list[SensitivityEnum]]
    metadata: NotRequired[dict[str, Any]]
    include_duplicates: NotRequired[bool]
    query: str
    mode: NotRequired[SearchModeEnum]
    syntax: NotRequired[SyntaxEnum]
    limit: NotRequired[int]
    min_score: NotRequired[float | None]
    cutoff: NotRequired[CutoffEnum]
    fusion: NotRequired[FusionEnum]
    weights: NotRequired[WeightsRequest]
    explain: NotRequired[bool | str]
    fields: NotRequired[list[FieldsEnum]]


class SearchSessionRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    user_id: NotRequired[str | int | None]
    query: str
    scope: NotRequired[SessionSearchScopeEnum | None]
    mode: NotRequired[SearchModeEnum | None]
    limit: NotRequired[int | None]
    around: NotRequired[int | None]
    date_from: NotRequired[str | None]
    date_to: NotRequired[str | None]


class SearchSessionsRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str | None]
    query: str
    scope: NotRequired[SessionSearchScopeEnum | None]
    mode: NotRequired[SearchModeEnum | None]
    limit: NotRequired[int | None]
    around: NotRequired[int | None]
    date_from: NotRequired[str | None]
    date_to: NotRequired[str | None]
    user_id: NotRequired[str | int | None]
    agent_id: NotRequired[str | None]
    channel: NotRequired[str | None]
    session: NotRequired[str | None]


class SearchSettings(TypedDict):
    language: NotRequired[LanguageEnum]
    fusion: NotRequired[FusionEnum]
    keyword_weight: NotRequired[float]
    semantic_weight: NotRequired[float]


class SeenFileRequest(TypedDict):
    path: str
    hash: str | None


class ServerListingOut(TypedDict):
    tools: list[OfferedToolOut]
    listed_at: str
    error: str


class SessionCompactionOut(TypedDict):
    leaf_summaries_created: int
    condensed_summaries_created: int
    messages_compacted: int
    tokens_before: int
    tokens_after: int
    duration_ms: int


class SessionHitOut(TypedDict):
    source_type: SourceTypeEnum
    source_id: str
    session: str
    session_id: str
    seq: int
    content: str
    score: float
    timestamp: str
    lanes: dict[str, LaneOut]
    around: list[MessageOut]


class SessionOut(TypedDict):
    id: str
    key: str
    agent_id: str
    user_id: str
    channel: str
    title: str
    metadata: dict[str, Any]
    token_budget: int | None
    created_at: str
    last_active: str
    archived: bool
    ended_at: str | None


class SessionScope(TypedDict):
    kind: SessionScopeKindEnum
    session_id: str
    user_id: NotRequired[str]


class SessionSearchOut(TypedDict):
    results: list[SessionHitOut]
    took_ms: float
    notes: list[str]


class SetMemberRequest(TypedDict):
    username: str
    role: RoleEnum


class SetTextRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    user_id: NotRequired[str | int]
    agent_id: NotRequired[str]
    session: NotRequired[str]
    source: NotRequired[WriteSourceEnum]
    text: str


class SideOut(TypedDict):
    kind: SideOutKindEnum
    entry_id: str | None
    delta_id: str | None
    label: str | None
    content: str
    condition: str
    status: str
    version: int
    helpful: int
    harmful: int
    neutral: int
    support_count: int
    evidence: list[SideQuote]


class SideQuote(TypedDict):
    field: str
    start: int
    end: int
    quote: str
    delta_id: str


class SkippedCounts(TypedDict):
    budget: int
    below_gate: int


class SnapshotOut(TypedDict):
    session: str
    user_id: str
    agent_id: str
    version: int
    updated_at: str


class SplitConflictRequest(TypedDict):
    note: NotRequired[str]
    left_expected_version: NotRequired[int]
    right_expected_version: NotRequired[int]
    release_reason: NotRequired[str]
    left_condition: str
    right_condition: str
    left_content: NotRequired[str]
    right_content: NotRequired[str]


class StartDeduplicationRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    threshold: NotRequired[float]
    apply: NotRequired[bool]


class StatsOut(TypedDict):
    message_count: int
    token_count: int
    summary_count: int
    oldest_at: str | None
    newest_at: str | None


class StepInRequest(TypedDict):
    thought: NotRequired[str]
    action: str
    arguments: NotRequired[dict[str, Any]]
    observation: NotRequired[str]


class StepOut(TypedDict):
    thought: str
    action: str
    arguments: dict[str, Any]
    observation: str
    is_error: bool
    is_history: bool
    call_id: str
    took_ms: int


class StoreEpisodeRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    user: NotRequired[str | int | None]
    source: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    expires_at: NotRequired[str | None]
    goal: str
    steps: NotRequired[list[str] | None]
    outcome: NotRequired[str | None]
    lessons: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class StoreFactRequest(TypedDict):
    collection: NotRequired[str | None]
    project_id: NotRequired[str | None]
    project: NotRequired[str | None]
    user: NotRequired[str | int | None]
    source: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    expires_at: NotRequired[str | None]
    content: str
    key: NotRequired[str | None]
    value: NotRequired[Any]


class StoredEpisodeOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    status: str
    notes: NotRequired[list[str]]
    episode_id: str


class StoredFactOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    status: str
    notes: NotRequired[list[str]]
    fact_id: str


class SuccessOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    success: bool


class SummariesOut(TypedDict):
    results: list[SummaryOut]


class SummaryOut(TypedDict):
    id: str
    kind: str
    depth: int
    parent: str | None
    tokens: int
    first_seq: int
    last_seq: int
    message_count: int
    earliest_at: str
    latest_at: str
    summarizer: str


class SupersedeConflictRequest(TypedDict):
    note: NotRequired[str]
    left_expected_version: NotRequired[int]
    right_expected_version: NotRequired[int]
    release_reason: NotRequired[str]
    winner: NotRequired[WinnerEnum]


class SupersedeRequest(TypedDict):
    note: NotRequired[str]
    by: str


class SwitchOut(TypedDict):
    user_id: str
    enabled: bool


class SyncFilesRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    files: list[SeenFileRequest]


class SyncOut(TypedDict):
    files: int
    changed: int
    gone: int
    suspect: int
    attested: bool


class TagOut(TypedDict):
    id: str
    project_id: str
    name: str
    description: str
    category: str
    usage_count: int
    created_at: str


class TailOut(TypedDict):
    from_seq: int | None
    count: int
    tokens: int


class TargetInRequest(TypedDict):
    id: str
    version: NotRequired[int]


class TaskContextOut(TypedDict):
    text: str
    memories: list[RelevantMemoryOut]
    playbook_entries: list[RelevantRuleOut]
    files: list[RecommendedFileOut]
    card: list[CardLineOut]
    tokens: int
    omitted: int
    below_gate: int
    notes: list[str]


class TaskContextRequestRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    task_description: str
    top_k: NotRequired[int]
    token_budget: NotRequired[int | None]
    tools: NotRequired[list[str]]
    files: NotRequired[list[str]]
    scope: NotRequired[ScopeRequest]
    cutoff: NotRequired[CutoffEnum]
    agent_id: NotRequired[str]
    session: NotRequired[str]
    branch: NotRequired[str]
    card: NotRequired[bool]


class TextOut(TypedDict):
    text: str
    version: int


class TokensOut(TypedDict):
    prompt: int
    answer: int


class ToolAnswerOut(TypedDict):
    text: str
    data: Any


class ToolArgumentFields(TypedDict):
    name: str
    type: NotRequired[TypeEnum]
    description: NotRequired[str]
    required: NotRequired[bool]


class ToolArgumentFieldsRequest(TypedDict):
    name: str
    type: NotRequired[TypeEnum]
    description: NotRequired[str]
    required: NotRequired[bool]


class ToolDefinitionOut(TypedDict):
    kind: ToolKindEnum
    description: NotRequired[str]
    arguments: NotRequired[list[ToolArgumentFields]]
    definition: DefinitionFields
    timeout: NotRequired[float]
    groups: NotRequired[list[str]]
    states: NotRequired[list[str]]
    confirm: NotRequired[ConfirmEnum]
    is_enabled: NotRequired[bool]
    name: str
    asks_first: bool
    listing: ServerListingOut | None
    created_at: str
    updated_at: str


class ToolOut(TypedDict):
    name: str
    description: str
    parameters: dict[str, Any]


class ToolSecretOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    name: str
    updated_at: str
    state: ToolSecretOutStateEnum
    tools: list[str]


class ToolUsageRequest(TypedDict):
    tool_name: str
    tool: NotRequired[Any]
    name: NotRequired[Any]
    arguments: NotRequired[Any]
    result: NotRequired[Any]
    status: NotRequired[Any]
    cwd: NotRequired[str | None]


class TranscriptOut(TypedDict):
    format: str
    cursor: int
    prefix: str


class TranscriptReceiptOut(TypedDict):
    session: str
    cursor: int
    prefix: str
    messages: int
    tasks: int
    left_out: dict[str, int]
    unknown: dict[str, int]
    job: str | None


class TriedCallOut(TypedDict):
    error: NotRequired[AgentErrorOut | None]
    observation: str
    is_error: bool
    asks_first: bool
    took_ms: int


class TryToolRequest(TypedDict):
    project_id: NotRequired[str]
    project: NotRequired[str]
    arguments: NotRequired[dict[str, Any]]
    tool: NotRequired[str]


class UndoDeltaRequest(TypedDict):
    reason: NotRequired[str]
    expected_version: NotRequired[int]
    release_reason: NotRequired[str]


class UndoOut(TypedDict):
    hidden: int


class UnparsedLineOut(TypedDict):
    file: str
    line: int
    text: str
    why: str


class UpdatedBullet(TypedDict):
    id: str
    label: str
    content: str
    category: str
    helpful: int
    harmful: int


class UsageOut(TypedDict):
    quotas: list[QuotaOut]


class UseOut(TypedDict):
    times_given: int
    times_cited: int
    times_used: int
    last_given_at: str | None
    last_cited_at: str | None


class UserScope(TypedDict):
    kind: UserScopeKindEnum
    user_id: NotRequired[str]


class VerifyEntryRequest(TypedDict):
    expected_version: NotRequired[int]
    note: NotRequired[str]
    review_after: NotRequired[str]


class WeightsRequest(TypedDict):
    keyword: NotRequired[float]
    semantic: NotRequired[float]


class WithVersionRequest(TypedDict):
    expected_version: NotRequired[int]


class WordsOut(TypedDict):
    kind: WordsOutKindEnum
    text: str


class WorkspaceScope(TypedDict):
    kind: WorkspaceScopeKindEnum
    workspace_id: NotRequired[str]


class WriteOut(TypedDict):
    delta: DeltaOut
    entry: EntryDetail | None


ActionsEnum = Literal[
    "accept", "edit", "merge", "reject", "rebase", "undo", "redo", "reopen"
]


AddChangeActionEnum = Literal["create", "update", "delete", "compact"]


AddChangeScopeEnum = Literal["skill", "compaction"]


AgentConfigOut = TypedDict(
    "AgentConfigOut",
    {
        "max-iterations": "int",
        "working-memory-threshold": "int",
        "keep-last-steps": "int",
        "fact-retrieval-top-k": "int",
        "episode-retrieval-top-k": "int",
        "enable-auto-fact-extraction": "bool",
        "enable-episode-recording": "bool",
        "additional-context": "str",
        "protocol": "ProtocolEnum",
        "max-seconds": "int",
        "conversation-timeout": "int",
        "token-budget": "int",
        "templates": "dict[str, str]",
        "error": "NotRequired[AgentErrorOut | None]",
        "project_id": "str",
    },
)


AgentMemoryTextEnum = Literal["profile", "soul"]


class AgentRunOutPage(Page[AgentRunOut]):
    pass


AssembleRequestFormatEnum = Literal["messages", "openai", "anthropic"]


class AuditOutPage(Page[AuditOut]):
    pass


AuthorEnum = Literal["rule", "model", "human"]


BulkDeltasActionEnum = Literal["accept", "reject"]


CardLineOutSectionEnum = Literal["wrong", "failure", "command", "work"]


ChangeOutOperationEnum = Literal["add", "update", "delete"]


class ChangeOutPage(Page[ChangeOut]):
    pass


CompactionModeEnum = Literal["incremental", "full"]


class CompactionOutPage(Page[CompactionOut]):
    pass


CompactionPlanOutStatusEnum = Literal["stored", "superseded_key"]


CompactionSettingsKindsEnum = Literal["note", "fact", "procedure", "episode"]


ConfirmEnum = Literal["ask", "auto"]


class ConflictOutPage(Page[ConflictOut]):
    pass


ConflictOutStateEnum = Literal["open", "superseded", "split", "rejected"]


CreateDeltaOperationEnum = Literal[
    "add", "update", "delete", "merge", "deprecate", "restore", "tag"
]


CutoffEnum = Literal["auto", "none"]


DeltaOperationEnum = Literal[
    "add",
    "update",
    "delete",
    "merge",
    "deprecate",
    "restore",
    "tag",
    "vote",
    "correct",
    "forget",
]


class DeltaOutPage(Page[DeltaOut]):
    pass


DeltaStatusEnum = Literal[
    "pending", "applied", "accepted", "edited", "rejected", "reverted", "stale"
]


class DiffPage(Page[DifferenceOut]):
    added: int
    changed: int
    from_revision: int
    removed: int
    to_revision: int


DifferenceOutKindEnum = Literal["added", "removed", "changed"]


EntryStatusEnum = Literal["active", "deprecated", "superseded", "deleted"]


FeedbackSourceEnum = Literal["test", "human", "environment", "agent"]


FieldsEnum = Literal[
    "id",
    "project_id",
    "organization_id",
    "agent_id",
    "user_id",
    "memory_type",
    "kind",
    "title",
    "key",
    "value",
    "content",
    "goal",
    "result",
    "feedback",
    "tool_usage",
    "steps",
    "outcome",
    "lessons",
    "tags",
    "files",
    "metadata",
    "scope",
    "sensitivity",
    "confidence",
    "source",
    "promoted_from",
    "compacted_from",
    "compaction",
    "created_in_session_id",
    "provenance",
    "similarity_hash",
    "is_duplicate",
    "duplicate_of",
    "superseded_by",
    "created_at",
    "updated_at",
    "occurred_at",
    "expires_at",
    "verified_at",
    "archived_at",
    "version",
]


class FileOutPage(Page[FileOut]):
    pass


FixOutKindEnum = Literal["lint", "shell", "path", "tool"]


FusionEnum = Literal["relative", "rrf"]


ImportInFormatEnum = Literal["ace", "json", "agents-md", "skills"]


class JobOutPage(Page[JobOut]):
    pass


JobStateEnum = Literal["waiting", "running", "done", "failed", "cancelled", "discarded"]


class KeyOutPage(Page[KeyOut]):
    pass


LanguageEnum = Literal[
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


LessonOutProducerEnum = Literal["rule", "model"]


LessonRequestOutKindEnum = Literal[
    "failed_call", "repair", "repeated_error", "correction"
]


class MemberOutPage(Page[MemberOut]):
    pass


class MemoriesPage(Page[MemoryOut]):
    missing_ids: NotRequired[list[str]]


MemoryChangeOutActionEnum = Literal[
    "create",
    "update",
    "delete",
    "restore",
    "promote",
    "compact",
    "supersede",
    "duplicate_mark",
    "unmark",
    "verify",
    "archive",
    "purge",
]


class MemoryChangeOutPage(Page[MemoryChangeOut]):
    pass


MemoryKindEnum = Literal["note", "fact", "procedure", "episode"]


MemorySourceEnum = Literal["user", "agent", "reflect", "system", "tool", "import"]


MemoryToolCallSourceEnum = Literal["agent", "user"]


MemoryTypeEnum = Literal[
    "error_fix", "discovery", "decision", "learning", "warning", "codebase_knowledge"
]


class MessagePage(Page[MessageOut]):
    pass


MethodEnum = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


ObjectScopeKindEnum = Literal["object"]


OrgScopeKindEnum = Literal["org"]


OutcomeEnum = Literal["success", "partial", "failure", "unknown"]


class PlaybookPage(Page[EntryOut]):
    notes: list[str]
    revision: int


PolicyEnum = Literal["manual", "assisted", "auto"]


class PossibleDuplicateOutPage(Page[PossibleDuplicateOut]):
    pass


PossibleDuplicateOutStateEnum = Literal["open", "kept_both", "merged"]


class ProjectOutPage(Page[ProjectOut]):
    pass


ProposerEnum = Literal["model", "human"]


ProtocolEnum = Literal["text", "tools"]


PurgeAnswer = PurgeReceiptOut | PurgePlanOut


class PurgeOutPage(Page[PurgeOut]):
    pass


PurgeStateEnum = Literal["waiting", "done"]


PutAgentConfigRequest = TypedDict(
    "PutAgentConfigRequest",
    {
        "collection": "NotRequired[str | None]",
        "project_id": "NotRequired[str | None]",
        "project": "NotRequired[str | None]",
        "max-iterations": "NotRequired[int | None]",
        "working-memory-threshold": "NotRequired[int | None]",
        "keep-last-steps": "NotRequired[int | None]",
        "fact-retrieval-top-k": "NotRequired[int | None]",
        "episode-retrieval-top-k": "NotRequired[int | None]",
        "enable-auto-fact-extraction": "NotRequired[bool | None]",
        "enable-episode-recording": "NotRequired[bool | None]",
        "additional-context": "NotRequired[str | None]",
        "protocol": "NotRequired[ProtocolEnum | None]",
        "max-seconds": "NotRequired[int | None]",
        "conversation-timeout": "NotRequired[int | None]",
        "token-budget": "NotRequired[int | None]",
        "templates": "NotRequired[dict[str, str] | None]",
    },
)


ReasonCodeEnum = Literal[
    "wrong", "duplicate", "too_vague", "one_off", "unsafe", "other"
]


ReceiptStatusEnum = Literal[
    "stored", "duplicate", "superseded_key", "waiting", "rejected"
]


RelationTypeEnum = Literal["read", "modified", "created", "deleted", "referenced"]


RelevantRuleOutSectionEnum = Literal["relevant", "process", "other"]


RoleEnum = Literal["viewer", "writer", "curator", "owner"]


class RunOutPage(Page[RunOut]):
    pass


RunStateEnum = Literal["running", "done", "failed"]


Scope = WorkspaceScope | UserScope | SessionScope | OrgScope | ObjectScope


ScopeRequest = WorkspaceScope | UserScope | SessionScope | OrgScope | ObjectScope


ScopesEnum = Literal["session", "user", "workspace", "org", "object"]


SearchModeEnum = Literal["hybrid", "semantic", "keyword"]


SecretsEnum = Literal["mask", "reject", "allow"]


SensitivityEnum = Literal["public", "private", "sensitive"]


class SessionPage(Page[SessionOut]):
    pass


SessionScopeKindEnum = Literal["session"]


SessionSearchScopeEnum = Literal["both", "messages", "summaries"]


SideOutKindEnum = Literal["entry", "delta"]


SourceTypeEnum = Literal["message", "summary"]


StoreEnum = Literal["full", "simple"]


SummarizerEnum = Literal["auto", "extractive", "off"]


SyntaxEnum = Literal["plain", "operators"]


class TagOutPage(Page[TagOut]):
    pass


TagsMatchEnum = Literal["all", "any"]


ToolKindEnum = Literal["http", "mcp"]


ToolSecretOutStateEnum = Literal["ready", "old_key", "unreadable"]


TypeEnum = Literal["string", "number", "integer", "boolean", "object", "array"]


UserScopeKindEnum = Literal["user"]


VerdictEnum = Literal["pass", "warn", "fail"]


WinnerEnum = Literal["left", "right"]


WordsOutKindEnum = Literal["same", "removed", "added"]


WorkspaceScopeKindEnum = Literal["workspace"]


WriteSourceEnum = Literal["user", "agent", "reflect", "system"]


class AceRunsListQuery(TypedDict):
    agent_id: NotRequired[str]
    cursor: NotRequired[str]
    date_from: NotRequired[str]
    date_to: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    state: NotRequired[Literal["running", "done", "failed"]]


class AgentMemoryChangesQuery(TypedDict):
    agent_id: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    scope: NotRequired[Literal["profile", "soul", "constraint", "skill", "compaction"]]
    user_id: NotRequired[str | int]


class AgentMemoryConstraintsQuery(TypedDict):
    agent_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    session: NotRequired[str]
    user_id: NotRequired[str | int]
    version: NotRequired[int]


class AgentMemoryConstraintsRemoveQuery(TypedDict):
    agent_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    session: NotRequired[str]
    source: NotRequired[Literal["user", "agent", "reflect", "system"]]
    user_id: NotRequired[str | int]


class AgentMemoryProfileQuery(TypedDict):
    agent_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    session: NotRequired[str]
    user_id: NotRequired[str | int]
    version: NotRequired[int]


class AgentMemorySoulQuery(TypedDict):
    agent_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    session: NotRequired[str]
    user_id: NotRequired[str | int]
    version: NotRequired[int]


class AgentsConfigReadQuery(TypedDict):
    collection: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]


class AgentsRunsListQuery(TypedDict):
    collection: NotRequired[str]
    conversation_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    user: NotRequired[str | int]


class AgentsSecretsDeleteQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]


class AgentsSecretsReadQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]


class AgentsToolsDeleteQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]


class AgentsToolsListQuery(TypedDict):
    group: NotRequired[list[str]]
    project: NotRequired[str]
    project_id: NotRequired[str]
    state: NotRequired[str]


class AgentsToolsReadQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]


class AuditListQuery(TypedDict):
    actor: NotRequired[str]
    cursor: NotRequired[str]
    date_from: NotRequired[str]
    date_to: NotRequired[str]
    limit: NotRequired[int]
    object_id: NotRequired[str]
    project_id: NotRequired[str]
    verb: NotRequired[str]


class CompactionsListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]


class CompactionsPlanQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    prune_after_days: NotRequired[int]


class ContextCardQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]


class ContextDigestConfigReadQuery(TypedDict):
    agent_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]


class ConversationsDeleteQuery(TypedDict):
    collection: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    user: NotRequired[str | int]


class ConversationsReadQuery(TypedDict):
    collection: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    user: NotRequired[str | int]


class DeduplicationsReadQuery(TypedDict):
    after: NotRequired[str]
    limit: NotRequired[int]


class FilesGraphQuery(TypedDict):
    path: str
    project: NotRequired[str]
    project_id: NotRequired[str]


class FilesListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    path: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]


class JobsListQuery(TypedDict):
    cursor: NotRequired[str]
    kind: NotRequired[str]
    limit: NotRequired[int]
    project_id: NotRequired[str]
    state: NotRequired[
        Literal["waiting", "running", "done", "failed", "cancelled", "discarded"]
    ]


class KeysListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    project_id: NotRequired[str]
    usable: NotRequired[bool]


class MembersListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class MembersRemoveQuery(TypedDict):
    username: str


class MemoriesHistoryQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class MemoriesListQuery(TypedDict):
    agent_id: NotRequired[str]
    cursor: NotRequired[str]
    fields: NotRequired[
        list[
            Literal[
                "id",
                "project_id",
                "organization_id",
                "agent_id",
                "user_id",
                "memory_type",
                "kind",
                "title",
                "key",
                "value",
                "content",
                "goal",
                "result",
                "feedback",
                "tool_usage",
                "steps",
                "outcome",
                "lessons",
                "tags",
                "files",
                "metadata",
                "scope",
                "sensitivity",
                "confidence",
                "source",
                "promoted_from",
                "compacted_from",
                "compaction",
                "created_in_session_id",
                "provenance",
                "similarity_hash",
                "is_duplicate",
                "duplicate_of",
                "superseded_by",
                "created_at",
                "updated_at",
                "occurred_at",
                "expires_at",
                "verified_at",
                "archived_at",
                "version",
            ]
        ]
    ]
    file_paths: NotRequired[list[str]]
    ids: NotRequired[list[str]]
    include_duplicates: NotRequired[bool]
    include_narrower: NotRequired[bool]
    kinds: NotRequired[list[Literal["note", "fact", "procedure", "episode"]]]
    limit: NotRequired[float]
    memory_types: NotRequired[
        list[
            Literal[
                "error_fix",
                "discovery",
                "decision",
                "learning",
                "warning",
                "codebase_knowledge",
            ]
        ]
    ]
    metadata: NotRequired[str]
    object_id: NotRequired[str]
    object_type: NotRequired[str]
    order: NotRequired[Literal["newest", "oldest"]]
    org_id: NotRequired[str]
    project: NotRequired[str]
    project_id: NotRequired[str]
    scope: NotRequired[Literal["session", "user", "workspace", "org", "object"]]
    sensitivities: NotRequired[list[Literal["public", "private", "sensitive"]]]
    session_id: NotRequired[str]
    since: NotRequired[str]
    tag: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    tags_match: NotRequired[Literal["all", "any"]]
    user_id: NotRequired[str]
    workspace_id: NotRequired[str]


class PlaybookChangesQuery(TypedDict):
    action: NotRequired[
        Literal[
            "add",
            "update",
            "delete",
            "vote",
            "support",
            "merge",
            "deprecate",
            "supersede",
            "restore",
            "tag",
            "revert",
            "verify",
        ]
    ]
    actor: NotRequired[str]
    agent_id: NotRequired[str]
    cursor: NotRequired[str]
    date_from: NotRequired[str]
    date_to: NotRequired[str]
    entry: NotRequired[str]
    limit: NotRequired[int]
    operation: NotRequired[Literal["add", "update", "delete"]]
    project: NotRequired[str]
    project_id: NotRequired[str]


class PlaybookConflictsListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    state: NotRequired[list[Literal["open", "superseded", "split", "rejected"]]]


class PlaybookDeltasListQuery(TypedDict):
    cursor: NotRequired[str]
    entry: NotRequired[str]
    limit: NotRequired[int]
    operation: NotRequired[
        list[
            Literal[
                "add",
                "update",
                "delete",
                "merge",
                "deprecate",
                "restore",
                "tag",
                "vote",
                "correct",
                "forget",
            ]
        ]
    ]
    producer: NotRequired[Literal["rule", "model", "human"]]
    project: NotRequired[str]
    project_id: NotRequired[str]
    risk: NotRequired[Literal["low", "medium", "high", "quarantine"]]
    run_id: NotRequired[str]
    status: NotRequired[
        list[
            Literal[
                "pending",
                "applied",
                "accepted",
                "edited",
                "rejected",
                "reverted",
                "stale",
            ]
        ]
    ]


class PlaybookDiffQuery(TypedDict):
    cursor: NotRequired[str]
    from_revision: int
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    to_revision: NotRequired[int]


class PlaybookEntriesDeleteQuery(TypedDict):
    expected_version: NotRequired[int]
    reason: NotRequired[str]


class PlaybookEntriesHistoryQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]


class PlaybookExportQuery(TypedDict):
    format: NotRequired[Literal["ace", "json", "agents-md", "skills"]]
    project: NotRequired[str]
    project_id: NotRequired[str]


class PlaybookReadQuery(TypedDict):
    category: NotRequired[list[str]]
    cursor: NotRequired[str]
    freshness: NotRequired[Literal["due", "suspect", "fresh"]]
    limit: NotRequired[int]
    order: NotRequired[Literal["asc", "desc"]]
    project: NotRequired[str]
    project_id: NotRequired[str]
    q: NotRequired[str]
    revision: NotRequired[int]
    sort: NotRequired[
        Literal["priority", "created_at", "updated_at", "helpful", "label"]
    ]
    status: NotRequired[list[Literal["active", "deprecated", "superseded", "deleted"]]]
    tag: NotRequired[list[str]]
    tags: NotRequired[list[str]]
    tags_match: NotRequired[Literal["all", "any"]]


class PlaybookRenderQuery(TypedDict):
    agent_id: NotRequired[str]
    files: NotRequired[list[str]]
    project: NotRequired[str]
    project_id: NotRequired[str]
    relevant_only: NotRequired[bool]
    task: NotRequired[str]
    token_budget: NotRequired[int]
    tools: NotRequired[list[str]]


class PossibleDuplicatesListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    state: NotRequired[Literal["open", "kept_both", "merged"]]


class ProjectsListQuery(TypedDict):
    cursor: NotRequired[str]
    deleted: NotRequired[bool]
    limit: NotRequired[int]
    name: NotRequired[str]


class PurgesListQuery(TypedDict):
    cursor: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]


class PurgesReadQuery(TypedDict):
    after: NotRequired[str]
    limit: NotRequired[int]


class QuotasReadQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]


class SessionsCapabilitiesQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsCompactionQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    threshold: NotRequired[float]
    token_budget: NotRequired[int]
    user_id: NotRequired[str | int]


class SessionsDeleteQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsListQuery(TypedDict):
    agent_id: NotRequired[str]
    channel: NotRequired[str]
    cursor: NotRequired[str]
    include_archived: NotRequired[bool]
    key: NotRequired[str]
    limit: NotRequired[int]
    offset: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    q: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsMemoryToolQuery(TypedDict):
    actions: NotRequired[list[str]]
    project: NotRequired[str]
    project_id: NotRequired[str]
    read_only_profile: NotRequired[bool]
    read_only_soul: NotRequired[bool]
    user_id: NotRequired[str | int]


class SessionsMessagesDeleteQuery(TypedDict):
    from_seq: int
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsMessagesListQuery(TypedDict):
    after_seq: NotRequired[int]
    before_seq: NotRequired[int]
    format: NotRequired[Literal["messages", "openai", "anthropic"]]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsReadQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsReviewQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    since: NotRequired[str]
    token_budget: NotRequired[int]
    user_id: NotRequired[str | int]


class SessionsStatsQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsSummariesQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SessionsTranscriptReadQuery(TypedDict):
    format: NotRequired[
        Literal[
            "claude-code", "codex", "copilot", "gemini", "opencode", "chatgpt-export"
        ]
    ]
    project: NotRequired[str]
    project_id: NotRequired[str]
    user_id: NotRequired[str | int]


class SummariesExpandQuery(TypedDict):
    after_seq: NotRequired[int]
    token_cap: NotRequired[int]


class TagsListQuery(TypedDict):
    category: NotRequired[str]
    cursor: NotRequired[str]
    limit: NotRequired[int]
    project: NotRequired[str]
    project_id: NotRequired[str]
    q: NotRequired[str]


class UsersMemoryQuery(TypedDict):
    project: NotRequired[str]
    project_id: NotRequired[str]
