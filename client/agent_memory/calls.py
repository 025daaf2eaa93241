# Written by client/generate.py from the OpenAPI schema; do not edit.
"""A function for each operation of the service; it returns the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack

from agent_memory.request import Request, path, without_none

if TYPE_CHECKING:
    from agent_memory import shapes


def ace_runs_list(
    **query: Unpack[shapes.AceRunsListQuery],
) -> Request[shapes.RunOutPage]:
    """Runs of a project, newest first."""
    return Request("GET", "ace/runs", query=dict(query), project_in="query")


def ace_runs_read(run_id: str, /) -> Request[shapes.RunDetail]:
    """A run with its request, its result and its reflection."""
    return Request("GET", path("ace/runs/{}", run_id))


def ace_runs_resume(
    run_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.AceResult]:
    """Finish a run whose process died or whose phase failed."""
    return Request(
        "POST", path("ace/runs/{}/resume", run_id), idempotency_key=idempotency_key
    )


def agent_memory_changes(
    **query: Unpack[shapes.AgentMemoryChangesQuery],
) -> Request[shapes.ChangesOut]:
    """List the changes of an agent memory, the newest first."""
    return Request("GET", "agent-memory/changes", query=dict(query), project_in="query")


def agent_memory_changes_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.AddChangeRequest]
) -> Request[shapes.AgentMemoryChangeOut]:
    """Add an entry of your own to the changelog."""
    return Request(
        "POST",
        "agent-memory/changes",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agent_memory_constraints(
    **query: Unpack[shapes.AgentMemoryConstraintsQuery],
) -> Request[shapes.ConstraintsOut]:
    """List the constraints that a user set."""
    return Request(
        "GET", "agent-memory/constraints", query=dict(query), project_in="query"
    )


def agent_memory_constraints_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.AddConstraintRequest]
) -> Request[shapes.ConstraintsOut]:
    """Add a constraint."""
    return Request(
        "POST",
        "agent-memory/constraints",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agent_memory_constraints_remove(
    constraint_id: str, /, **query: Unpack[shapes.AgentMemoryConstraintsRemoveQuery]
) -> Request[shapes.ConstraintsOut]:
    """Remove a constraint."""
    return Request(
        "DELETE",
        path("agent-memory/constraints/{}", constraint_id),
        query=dict(query),
        project_in="query",
    )


def agent_memory_profile(
    **query: Unpack[shapes.AgentMemoryProfileQuery],
) -> Request[shapes.TextOut]:
    """Read what an agent notes about a user."""
    return Request("GET", "agent-memory/profile", query=dict(query), project_in="query")


def agent_memory_profile_put(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.SetTextRequest]
) -> Request[shapes.TextOut]:
    """Replace what an agent notes about a user."""
    return Request(
        "PUT",
        "agent-memory/profile",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agent_memory_rollback(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.RollBackRequest]
) -> Request[shapes.TextOut]:
    """Write an earlier profile or soul again."""
    return Request(
        "POST",
        "agent-memory/rollback",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agent_memory_soul(
    **query: Unpack[shapes.AgentMemorySoulQuery],
) -> Request[shapes.TextOut]:
    """Read the character that an agent has for a user."""
    return Request("GET", "agent-memory/soul", query=dict(query), project_in="query")


def agent_memory_soul_put(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.SetTextRequest]
) -> Request[shapes.TextOut]:
    """Replace the character that an agent has for a user."""
    return Request(
        "PUT",
        "agent-memory/soul",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agents_config_put(
    **body: Unpack[shapes.PutAgentConfigRequest],
) -> Request[shapes.AgentConfigOut]:
    """Replace the settings of the agent."""
    return Request("PUT", "agents/config", body=dict(body), project_in="body")


def agents_config_read(
    **query: Unpack[shapes.AgentsConfigReadQuery],
) -> Request[shapes.AgentConfigOut]:
    """Read the settings of the agent."""
    return Request("GET", "agents/config", query=dict(query), project_in="query")


def agents_react_mem(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.AgentRequestInRequest]
) -> Request[shapes.AgentResponseOut | str]:
    """Ask the agent."""
    return Request(
        "POST",
        "agents/react-mem",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agents_runs_confirm(
    run_id: str, /, **body: Unpack[shapes.ConfirmInRequest]
) -> Request[shapes.AgentResponseOut | str]:
    """Allow or forbid a call that waits."""
    return Request("POST", path("agents/runs/{}/confirm", run_id), body=dict(body))


def agents_runs_delete(run_id: str, /) -> Request[shapes.AgentRunOut]:
    """Cancel a run."""
    return Request("DELETE", path("agents/runs/{}", run_id))


def agents_runs_events(run_id: str, /) -> Request[str]:
    """Follow a run."""
    return Request("GET", path("agents/runs/{}/events", run_id))


def agents_runs_list(
    **query: Unpack[shapes.AgentsRunsListQuery],
) -> Request[shapes.AgentRunOutPage]:
    """List runs, the newest first."""
    return Request("GET", "agents/runs", query=dict(query), project_in="query")


def agents_runs_read(run_id: str, /) -> Request[shapes.AgentRunOut]:
    """Read a run."""
    return Request("GET", path("agents/runs/{}", run_id))


def agents_secrets_delete(
    name: str, /, **query: Unpack[shapes.AgentsSecretsDeleteQuery]
) -> Request[None]:
    """Delete a secret of tools."""
    return Request(
        "DELETE", path("agents/secrets/{}", name), query=dict(query), project_in="query"
    )


def agents_secrets_put(
    name: str, /, **body: Unpack[shapes.PutSecretRequest]
) -> Request[shapes.ToolSecretOut]:
    """Store or replace a secret of tools."""
    return Request(
        "PUT", path("agents/secrets/{}", name), body=dict(body), project_in="body"
    )


def agents_secrets_read(
    name: str, /, **query: Unpack[shapes.AgentsSecretsReadQuery]
) -> Request[shapes.ToolSecretOut]:
    """Read which tools use a secret, and whether it is readable."""
    return Request(
        "GET", path("agents/secrets/{}", name), query=dict(query), project_in="query"
    )


def agents_tools_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CreateToolRequest]
) -> Request[shapes.AgentToolOut]:
    """Define a tool."""
    return Request(
        "POST",
        "agents/tools",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def agents_tools_delete(
    name: str, /, **query: Unpack[shapes.AgentsToolsDeleteQuery]
) -> Request[None]:
    """Delete a tool."""
    return Request(
        "DELETE", path("agents/tools/{}", name), query=dict(query), project_in="query"
    )


def agents_tools_list(
    **query: Unpack[shapes.AgentsToolsListQuery],
) -> Request[shapes.AgentToolListOut]:
    """List the tools of a project's agents."""
    return Request("GET", "agents/tools", query=dict(query), project_in="query")


def agents_tools_put(
    name: str, /, **body: Unpack[shapes.PutToolRequest]
) -> Request[shapes.AgentToolOut]:
    """Define a tool, or replace its definition."""
    return Request(
        "PUT", path("agents/tools/{}", name), body=dict(body), project_in="body"
    )


def agents_tools_read(
    name: str, /, **query: Unpack[shapes.AgentsToolsReadQuery]
) -> Request[shapes.AgentToolOut]:
    """Read a tool."""
    return Request(
        "GET", path("agents/tools/{}", name), query=dict(query), project_in="query"
    )


def agents_tools_try(
    name: str, /, **body: Unpack[shapes.TryToolRequest]
) -> Request[shapes.TriedCallOut]:
    """Call a tool once, and read what the model would read."""
    return Request(
        "POST", path("agents/tools/{}/try", name), body=dict(body), project_in="body"
    )


def audit_list(**query: Unpack[shapes.AuditListQuery]) -> Request[shapes.AuditOutPage]:
    """List who did what in projects that you own."""
    return Request("GET", "audit", query=dict(query))


def compactions_list(
    **query: Unpack[shapes.CompactionsListQuery],
) -> Request[shapes.CompactionOutPage]:
    """List past compactions with their time and actor, newest first."""
    return Request("GET", "compactions", query=dict(query), project_in="query")


def compactions_plan(
    **query: Unpack[shapes.CompactionsPlanQuery],
) -> Request[shapes.PlanOut]:
    """Show what the project's policy would compact and prune now. Nothing is changed."""
    return Request("GET", "compactions/plan", query=dict(query), project_in="query")


def compactions_start(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.InProjectRequest]
) -> Request[shapes.JobOut]:
    """Start a compaction by the policy, whether or not the schedule is enabled."""
    return Request(
        "POST",
        "compactions",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def complete_task(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CompleteTaskRequest]
) -> Request[shapes.AceResult]:
    """Report a finished task: store a memory, and propose changes to the playbook."""
    return Request(
        "POST",
        "complete-task",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def context_card(**query: Unpack[shapes.ContextCardQuery]) -> Request[shapes.CardOut]:
    """Return the project card: what every session should know, made by counting alone.

    The answer has an `ETag`; with `If-None-Match` and the same card it is 304."""
    return Request("GET", "context/card", query=dict(query), project_in="query")


def context_digest(
    **body: Unpack[shapes.DigestRequestRequest],
) -> Request[shapes.DigestOut]:
    """The digest of an agent before a turn, within its budgets."""
    return Request("POST", "context/digest", body=dict(body), project_in="body")


def context_digest_config_put(
    **body: Unpack[shapes.PutDigestConfigRequest],
) -> Request[shapes.DigestConfigOut]:
    """Replace the settings of a project or an agent; an empty config removes them."""
    return Request("PUT", "context/digest-config", body=dict(body), project_in="body")


def context_digest_config_read(
    **query: Unpack[shapes.ContextDigestConfigReadQuery],
) -> Request[shapes.DigestConfigOut]:
    """The settings of a project or an agent, and the merged settings that apply."""
    return Request(
        "GET", "context/digest-config", query=dict(query), project_in="query"
    )


def context_fix(
    **body: Unpack[shapes.KnownFixRequestRequest],
) -> Request[shapes.KnownFixOut]:
    """What cured the failure of a call in earlier tasks, if it is sure and safe."""
    return Request("POST", "context/fix", body=dict(body), project_in="body")


def context_invocation(
    **body: Unpack[shapes.InvocationContextRequestRequest],
) -> Request[shapes.InvocationContextOut]:
    """Recall memory for a question, as a prompt."""
    return Request("POST", "context/invocation", body=dict(body), project_in="body")


def context_task(
    **body: Unpack[shapes.TaskContextRequestRequest],
) -> Request[shapes.TaskContextOut]:
    """The best memories, playbook entries and files for a task."""
    return Request("POST", "context/task", body=dict(body), project_in="body")


def conversations_delete(
    conversation_id: str, /, **query: Unpack[shapes.ConversationsDeleteQuery]
) -> Request[shapes.SuccessOut]:
    """Hide the invocations of a conversation."""
    return Request(
        "DELETE",
        path("conversations/{}", conversation_id),
        query=dict(query),
        project_in="query",
    )


def conversations_end(
    conversation_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.EndConversationRequest],
) -> Request[shapes.SuccessOut]:
    """End a conversation."""
    return Request(
        "POST",
        path("conversations/{}/end", conversation_id),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def conversations_invocations_append(
    conversation_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.AppendInvocationRequest],
) -> Request[shapes.InvocationAnswer]:
    """Add an invocation to a conversation."""
    return Request(
        "POST",
        path("conversations/{}/invocations", conversation_id),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def conversations_read(
    conversation_id: str, /, **query: Unpack[shapes.ConversationsReadQuery]
) -> Request[shapes.ConversationAnswer]:
    """Read the invocations of a conversation."""
    return Request(
        "GET",
        path("conversations/{}", conversation_id),
        query=dict(query),
        project_in="query",
    )


def conversations_update(
    conversation_id: str, /, **body: Unpack[shapes.PatchedUpdateConversationRequest]
) -> Request[shapes.ConversationAnswer]:
    """Change the metadata of a conversation, or turn its memory off."""
    return Request(
        "PATCH",
        path("conversations/{}", conversation_id),
        body=dict(body),
        project_in="body",
    )


def deduplications_read(
    job_id: str, /, **query: Unpack[shapes.DeduplicationsReadQuery]
) -> Request[shapes.DeduplicationOut]:
    """Show the progress of a scan, and a page of the pairs that the scan found."""
    return Request("GET", path("deduplications/{}", job_id), query=dict(query))


def deduplications_start(
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.StartDeduplicationRequest],
) -> Request[shapes.DeduplicationOut]:
    """Start a scan for duplicates. Without `apply`, the scan only reports the pairs."""
    return Request(
        "POST",
        "deduplications",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def episodes_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.StoreEpisodeRequest]
) -> Request[shapes.StoredEpisodeOut]:
    """Store an episode."""
    return Request(
        "POST",
        "episodes",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def episodes_delete(episode_id: str, /) -> Request[shapes.StoredEpisodeOut]:
    """Delete an episode."""
    return Request("DELETE", path("episodes/{}", episode_id))


def episodes_read(episode_id: str, /) -> Request[shapes.EpisodeAnswer]:
    """Read an episode."""
    return Request("GET", path("episodes/{}", episode_id))


def episodes_retrieve(
    **body: Unpack[shapes.RetrieveEpisodesRequest],
) -> Request[shapes.EpisodesAnswer]:
    """Find past tasks like this one."""
    return Request("POST", "episodes/retrieve", body=dict(body), project_in="body")


def episodes_search(
    **body: Unpack[shapes.SearchEpisodesRequest],
) -> Request[shapes.EpisodesAnswer]:
    """Search episodes with filters."""
    return Request("POST", "episodes/search", body=dict(body), project_in="body")


def facts_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.StoreFactRequest]
) -> Request[shapes.StoredFactOut]:
    """Store a fact."""
    return Request(
        "POST",
        "facts",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def facts_delete(fact_id: str, /) -> Request[shapes.StoredFactOut]:
    """Delete a fact."""
    return Request("DELETE", path("facts/{}", fact_id))


def facts_read(fact_id: str, /) -> Request[shapes.FactAnswer]:
    """Read a fact."""
    return Request("GET", path("facts/{}", fact_id))


def facts_retrieve(
    **body: Unpack[shapes.RetrieveFactsRequest],
) -> Request[shapes.FactsAnswer]:
    """Find the facts for a question."""
    return Request("POST", "facts/retrieve", body=dict(body), project_in="body")


def files_graph(**query: Unpack[shapes.FilesGraphQuery]) -> Request[shapes.GraphOut]:
    """The knowledge graph of a file."""
    return Request("GET", "files/graph", query=dict(query), project_in="query")


def files_list(**query: Unpack[shapes.FilesListQuery]) -> Request[shapes.FileOutPage]:
    """List files of a project, with the number of memories that link to each file."""
    return Request("GET", "files", query=dict(query), project_in="query")


def files_rename(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.RenameFileRequest]
) -> Request[shapes.FileOut]:
    """Move the links of a file to its new path."""
    return Request(
        "POST",
        "files/rename",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def files_sync(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.SyncFilesRequest]
) -> Request[shapes.SyncOut]:
    """Report the present hashes of files. Links to other contents become suspect."""
    return Request(
        "POST",
        "files/sync",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def jobs_cancel(
    job_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.JobOut]:
    """Cancel a job that waits or runs."""
    return Request(
        "POST", path("jobs/{}/cancel", job_id), idempotency_key=idempotency_key
    )


def jobs_discard(
    job_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.JobOut]:
    """Remove a failed job from the list of dead letters."""
    return Request(
        "POST", path("jobs/{}/discard", job_id), idempotency_key=idempotency_key
    )


def jobs_list(**query: Unpack[shapes.JobsListQuery]) -> Request[shapes.JobOutPage]:
    """List jobs, newest first."""
    return Request("GET", "jobs", query=dict(query))


def jobs_read(job_id: str, /) -> Request[shapes.JobOut]:
    """Read a job."""
    return Request("GET", path("jobs/{}", job_id))


def jobs_retry(
    job_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.JobOut]:
    """Run a failed job again."""
    return Request(
        "POST", path("jobs/{}/retry", job_id), idempotency_key=idempotency_key
    )


def keys_issue(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.IssueKeyRequest]
) -> Request[shapes.IssuedKeyOut]:
    """Issue a key; its secret is returned only once."""
    return Request("POST", "keys", idempotency_key=idempotency_key, body=dict(body))


def keys_list(**query: Unpack[shapes.KeysListQuery]) -> Request[shapes.KeyOutPage]:
    """List your own key and the keys of projects you own."""
    return Request("GET", "keys", query=dict(query))


def keys_read(key_id: str, /) -> Request[shapes.KeyOut]:
    """Read a key."""
    return Request("GET", path("keys/{}", key_id))


def keys_revoke(key_id: str, /) -> Request[None]:
    """Revoke a key now."""
    return Request("DELETE", path("keys/{}", key_id))


def keys_rotate(
    key_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.RotateKeyRequest],
) -> Request[shapes.IssuedKeyOut]:
    """Replace a key; the old one stays usable for a while."""
    return Request(
        "POST",
        path("keys/{}/rotate", key_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def keys_update(
    key_id: str, /, **body: Unpack[shapes.PatchedChangeKeyRequest]
) -> Request[shapes.KeyOut]:
    """Say whether a key may attest."""
    return Request("PATCH", path("keys/{}", key_id), body=dict(body))


def members_list(
    project_id: str, /, **query: Unpack[shapes.MembersListQuery]
) -> Request[shapes.MemberOutPage]:
    """List a project's members."""
    return Request("GET", path("projects/{}/members", project_id), query=dict(query))


def members_remove(
    project_id: str, /, **query: Unpack[shapes.MembersRemoveQuery]
) -> Request[None]:
    """Remove a member."""
    return Request("DELETE", path("projects/{}/members", project_id), query=dict(query))


def members_set(
    project_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.SetMemberRequest],
) -> Request[shapes.MemberOut]:
    """Give a person a role."""
    return Request(
        "POST",
        path("projects/{}/members", project_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def memories_batch(
    *,
    idempotency_key: str | None = None,
    wait: float | None = None,
    **body: Unpack[shapes.CreateMemoriesRequest],
) -> Request[shapes.BatchOut]:
    """Store up to 500 memories; each item has its own receipt and status."""
    return Request(
        "POST",
        "memories/batch",
        idempotency_key=idempotency_key,
        query=without_none({"wait": wait}),
        body=dict(body),
        project_in="body",
    )


def memories_compact(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CompactRequest]
) -> Request[shapes.CompactionPlanOut | shapes.ReceiptOut]:
    """Merge memories of one scope into one, with your text or a summary.

    With `dry_run`, the answer shows the result, and nothing is changed."""
    return Request(
        "POST",
        "memories/compact",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def memories_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CreateMemoryRequest]
) -> Request[shapes.ReceiptOut]:
    """Store one memory. The receipt tells the result."""
    return Request(
        "POST",
        "memories",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def memories_delete(memory_id: str, /) -> Request[None]:
    """Delete a memory. The answer is 204 for every id, so that it reveals nothing."""
    return Request("DELETE", path("memories/{}", memory_id))


def memories_delete_by_scope(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.DeleteByScopeRequest]
) -> Request[shapes.DeleteCountOut]:
    """Delete all memories of exactly one scope of a project, expired ones included."""
    return Request(
        "POST",
        "memories/delete-by-scope",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def memories_history(
    memory_id: str, /, **query: Unpack[shapes.MemoriesHistoryQuery]
) -> Request[shapes.MemoryChangeOutPage]:
    """List the changes of a memory, even of a deleted one, newest first."""
    return Request("GET", path("memories/{}/history", memory_id), query=dict(query))


def memories_list(
    **query: Unpack[shapes.MemoriesListQuery],
) -> Request[shapes.MemoriesPage]:
    """Read a scope without a query, newest or oldest first, or memories by their ids."""
    return Request("GET", "memories", query=dict(query), project_in="query")


def memories_promote(
    memory_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.PromoteRequest],
) -> Request[shapes.ReceiptOut]:
    """Copy a memory into a broader scope."""
    return Request(
        "POST",
        path("memories/{}/promote", memory_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def memories_read(memory_id: str, /) -> Request[shapes.MemoryDetail]:
    """Read one memory with all its fields, its files and its lineage."""
    return Request("GET", path("memories/{}", memory_id))


def memories_restore(
    memory_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.MemoryDetail]:
    """Restore a deleted memory."""
    return Request(
        "POST", path("memories/{}/restore", memory_id), idempotency_key=idempotency_key
    )


def memories_supersede(
    memory_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.SupersedeRequest],
) -> Request[shapes.MemoryDetail]:
    """Replace this memory with another one."""
    return Request(
        "POST",
        path("memories/{}/supersede", memory_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def memories_undo_compaction(
    memory_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.RestoreResultOut]:
    """Restore the sources of a compaction and delete its result."""
    return Request(
        "POST",
        path("memories/{}/undo-compaction", memory_id),
        idempotency_key=idempotency_key,
    )


def memories_unmark_duplicate(
    memory_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.NoteRequest],
) -> Request[shapes.MemoryDetail]:
    """Unmark a duplicate. The memory is never marked as a duplicate again."""
    return Request(
        "POST",
        path("memories/{}/unmark-duplicate", memory_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def memories_update(
    memory_id: str, /, **body: Unpack[shapes.PatchedUpdateMemoryRequest]
) -> Request[shapes.MemoryDetail]:
    """Change fields. Tags are replaced, metadata are merged, a null date is cleared."""
    return Request("PATCH", path("memories/{}", memory_id), body=dict(body))


def memories_verify(
    memory_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.NoteRequest],
) -> Request[shapes.MemoryDetail]:
    """Confirm that a memory still holds."""
    return Request(
        "POST",
        path("memories/{}/verify", memory_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_changes(
    **query: Unpack[shapes.PlaybookChangesQuery],
) -> Request[shapes.ChangeOutPage]:
    """List the changes of the playbook, newest first."""
    return Request("GET", "playbook/changes", query=dict(query), project_in="query")


def playbook_conflicts_list(
    **query: Unpack[shapes.PlaybookConflictsListQuery],
) -> Request[shapes.ConflictOutPage]:
    """List pairs of rules that cannot both hold, each side with its quotes."""
    return Request("GET", "playbook/conflicts", query=dict(query), project_in="query")


def playbook_conflicts_read(conflict_id: str, /) -> Request[shapes.ConflictOut]:
    """Return one conflict with both sides."""
    return Request("GET", path("playbook/conflicts/{}", conflict_id))


def playbook_conflicts_reject(
    conflict_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.ConflictDecisionRequest],
) -> Request[shapes.ConflictOut]:
    """Reject the newer side of a conflict.

    A waiting delta is rejected. An entry is deprecated."""
    return Request(
        "POST",
        path("playbook/conflicts/{}/reject", conflict_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_conflicts_reopen(
    conflict_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.ReopenConflictRequest],
) -> Request[shapes.ConflictOut]:
    """Undo what the decision about a conflict did, and make the conflict wait again."""
    return Request(
        "POST",
        path("playbook/conflicts/{}/reopen", conflict_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_conflicts_split(
    conflict_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.SplitConflictRequest],
) -> Request[shapes.ConflictOut]:
    """Keep both sides, each side under its own condition."""
    return Request(
        "POST",
        path("playbook/conflicts/{}/split", conflict_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_conflicts_supersede(
    conflict_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.SupersedeConflictRequest],
) -> Request[shapes.ConflictOut]:
    """Keep one side of a conflict.

    By default the newer side is kept. The kept side supersedes the other side."""
    return Request(
        "POST",
        path("playbook/conflicts/{}/supersede", conflict_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_accept(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.AcceptDeltaRequest],
) -> Request[shapes.WriteOut]:
    """Apply a waiting delta.

    A key cannot accept its own proposal. A delta in quarantine needs an owner and a
    `release_reason`."""
    return Request(
        "POST",
        path("playbook/deltas/{}/accept", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_bulk(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.BulkDeltasRequest]
) -> Request[shapes.BulkOut]:
    """Accept or reject up to a hundred deltas.

    Only deltas of low risk are accepted; any other is refused. The response has one
    result for each delta."""
    return Request(
        "POST",
        "playbook/deltas/bulk",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def playbook_deltas_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CreateDeltaRequest]
) -> Request[shapes.DeltaOut]:
    """Propose a change.

    The status and the gates of the returned delta say what happened and why. A
    curator's own change that contradicts an entry waits, and the answer is 409
    `contradiction`, which names the conflicts to decide. With `observation_id`, it is a
    lesson about that observation; the same text again returns the same delta."""
    return Request(
        "POST",
        "playbook/deltas",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def playbook_deltas_edit(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.EditDeltaRequest],
) -> Request[shapes.WriteOut]:
    """Apply a waiting delta in your own words."""
    return Request(
        "POST",
        path("playbook/deltas/{}/edit", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_list(
    **query: Unpack[shapes.PlaybookDeltasListQuery],
) -> Request[shapes.DeltaOutPage]:
    """List proposals in any status.

    The list is for reviewers and not for prompts."""
    return Request("GET", "playbook/deltas", query=dict(query), project_in="query")


def playbook_deltas_merge(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.MergeDeltaRequest],
) -> Request[shapes.WriteOut]:
    """Merge the text of a waiting delta into an entry."""
    return Request(
        "POST",
        path("playbook/deltas/{}/merge", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_read(delta_id: str, /) -> Request[shapes.DeltaOut]:
    """Return one proposal with its quotes and gates."""
    return Request("GET", path("playbook/deltas/{}", delta_id))


def playbook_deltas_rebase(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.WithVersionRequest],
) -> Request[shapes.RebaseOut]:
    """Renew a waiting or stale delta for the current version of its entry.

    The delta then waits again."""
    return Request(
        "POST",
        path("playbook/deltas/{}/rebase", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_reject(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.RejectDeltaRequest],
) -> Request[shapes.WriteOut]:
    """Reject a waiting or stale delta, with a reason."""
    return Request(
        "POST",
        path("playbook/deltas/{}/reject", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_reopen(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.ReopenDeltaRequest],
) -> Request[shapes.WriteOut]:
    """Undo what a decided delta did, and make the delta wait again."""
    return Request(
        "POST",
        path("playbook/deltas/{}/reopen", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_deltas_undo(
    delta_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.UndoDeltaRequest],
) -> Request[shapes.WriteOut]:
    """Undo a delta.

    The request is refused if later changes depend on the delta."""
    return Request(
        "POST",
        path("playbook/deltas/{}/undo", delta_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_diff(
    **query: Unpack[shapes.PlaybookDiffQuery],
) -> Request[shapes.DiffPage]:
    """Compare two revisions, entry by entry in the order of labels."""
    return Request("GET", "playbook/diff", query=dict(query), project_in="query")


def playbook_entries_blame(entry_id: str, /) -> Request[shapes.BlameOut]:
    """Return the change that introduced each word and each column of an entry."""
    return Request("GET", path("playbook/entries/{}/blame", entry_id))


def playbook_entries_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CreateEntryRequest]
) -> Request[shapes.WriteOut]:
    """Add an entry.

    A curator's entry is applied (201). A writer's entry waits for a curator (202)."""
    return Request(
        "POST",
        "playbook/entries",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def playbook_entries_delete(
    entry_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **query: Unpack[shapes.PlaybookEntriesDeleteQuery],
) -> Request[shapes.WriteOut]:
    """Delete an entry.

    A curator's deletion is applied (200). A writer's deletion waits for a curator
    (202)."""
    return Request(
        "DELETE",
        path("playbook/entries/{}", entry_id),
        idempotency_key=idempotency_key,
        query=dict(query),
    )


def playbook_entries_history(
    entry_id: str, /, **query: Unpack[shapes.PlaybookEntriesHistoryQuery]
) -> Request[shapes.ChangeOutPage]:
    """List the changes of an entry, newest first, with a diff of the text."""
    return Request(
        "GET", path("playbook/entries/{}/history", entry_id), query=dict(query)
    )


def playbook_entries_read(entry_id: str, /) -> Request[shapes.EntryDetail]:
    """Return one entry with all details, whatever its status."""
    return Request("GET", path("playbook/entries/{}", entry_id))


def playbook_entries_update(
    entry_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.PatchedUpdateEntryRequest],
) -> Request[shapes.WriteOut]:
    """Change an entry.

    A curator's change is applied (200). A writer's change waits for a curator
    (202)."""
    return Request(
        "PATCH",
        path("playbook/entries/{}", entry_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_entries_verify(
    entry_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.VerifyEntryRequest],
) -> Request[shapes.EntryDetail]:
    """Confirm that an entry still holds.

    The entry is then no longer due or suspect."""
    return Request(
        "POST",
        path("playbook/entries/{}/verify", entry_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def playbook_export(
    **query: Unpack[shapes.PlaybookExportQuery],
) -> Request[str | dict[str, Any]]:
    """Export the playbook as ACE lines, JSON with history, for an AGENTS.md, or as skills."""
    return Request("GET", "playbook/export", query=dict(query), project_in="query")


def playbook_import(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.ImportInRequest]
) -> Request[shapes.ImportOut]:
    """Import a whole playbook.

    The changes wait for a curator. If a curator imports JSON with history into an
    empty playbook, the history is restored; unsafe entries need an owner and a
    `release_reason`."""
    return Request(
        "POST",
        "playbook/import",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def playbook_read(
    **query: Unpack[shapes.PlaybookReadQuery],
) -> Request[shapes.PlaybookPage]:
    """List entries as they are now, or as they were at a revision.

    The list can be filtered, searched and sorted."""
    return Request("GET", "playbook", query=dict(query), project_in="query")


def playbook_render(
    **query: Unpack[shapes.PlaybookRenderQuery],
) -> Request[shapes.RenderOut]:
    """Render the playbook for an agent, within a budget of tokens.

    The entries that a key gets are recorded. The agent's next finished task is
    credited with these entries."""
    return Request("GET", "playbook/render", query=dict(query), project_in="query")


def playbook_revert(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.RevertInRequest]
) -> Request[shapes.RevertOut]:
    """Revert a change, a delta, a run or a range of revisions by new changes.

    If a later change touches the same columns, the revert is refused with
    `overlap`. The error lists the entry, the columns and the later change."""
    return Request(
        "POST",
        "playbook/revert",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def possible_duplicates_keep(
    pair_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.NoteRequest],
) -> Request[shapes.PossibleDuplicateOut]:
    """Keep both memories. Neither is marked, and the pair counts as decided."""
    return Request(
        "POST",
        path("possible-duplicates/{}/keep", pair_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def possible_duplicates_list(
    **query: Unpack[shapes.PossibleDuplicatesListQuery],
) -> Request[shapes.PossibleDuplicateOutPage]:
    """List pairs of similar memories for a person to decide."""
    return Request("GET", "possible-duplicates", query=dict(query), project_in="query")


def possible_duplicates_merge(
    pair_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.NoteRequest],
) -> Request[shapes.PossibleDuplicateOut]:
    """Mark the newer memory as a duplicate of the other one."""
    return Request(
        "POST",
        path("possible-duplicates/{}/merge", pair_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def projects_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CreateProjectRequest]
) -> Request[shapes.ProjectOut]:
    """Create a project."""
    return Request("POST", "projects", idempotency_key=idempotency_key, body=dict(body))


def projects_delete(project_id: str, /) -> Request[None]:
    """Hide a project now and delete it after 30 days."""
    return Request("DELETE", path("projects/{}", project_id))


def projects_indexing(project_id: str, /) -> Request[shapes.MissingVectorsOut]:
    """Count the texts that wait for their vectors."""
    return Request("GET", path("projects/{}/indexing", project_id))


def projects_list(
    **query: Unpack[shapes.ProjectsListQuery],
) -> Request[shapes.ProjectOutPage]:
    """List the projects that you may see."""
    return Request("GET", "projects", query=dict(query))


def projects_read(project_id: str, /) -> Request[shapes.ProjectOut]:
    """Read a project."""
    return Request("GET", path("projects/{}", project_id))


def projects_restore(
    project_id: str, /, *, idempotency_key: str | None = None
) -> Request[shapes.ProjectOut]:
    """Restore a deleted project."""
    return Request(
        "POST", path("projects/{}/restore", project_id), idempotency_key=idempotency_key
    )


def projects_update(
    project_id: str, /, **body: Unpack[shapes.PatchedChangeProjectRequest]
) -> Request[shapes.ProjectOut]:
    """Change a project."""
    return Request("PATCH", path("projects/{}", project_id), body=dict(body))


def purges_list(
    **query: Unpack[shapes.PurgesListQuery],
) -> Request[shapes.PurgeOutPage]:
    """List the purges of a project, newest first."""
    return Request("GET", "purges", query=dict(query), project_in="query")


def purges_make(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.PurgeRequestRequest]
) -> Request[shapes.PurgeAnswer | shapes.PurgeReceiptOut]:
    """Purge texts and their copies for good. With `dry_run`, they are only counted."""
    return Request(
        "POST",
        "purge",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def purges_prove(
    purge_id: str, /, **body: Unpack[shapes.ProofRequestRequest]
) -> Request[shapes.ProofOut]:
    """Tell whether a purge removed exactly this text. The sent text is not stored."""
    return Request("POST", path("purges/{}/proof", purge_id), body=dict(body))


def purges_read(
    purge_id: str, /, **query: Unpack[shapes.PurgesReadQuery]
) -> Request[shapes.PurgeReceiptOut]:
    """Read the receipt of a purge, with a page of the HMACs of its texts."""
    return Request("GET", path("purges/{}", purge_id), query=dict(query))


def quotas_read(**query: Unpack[shapes.QuotasReadQuery]) -> Request[shapes.UsageOut]:
    """Show the quotas of a project with their use."""
    return Request("GET", "quotas", query=dict(query), project_in="query")


def search(**body: Unpack[shapes.SearchRequestRequest]) -> Request[shapes.SearchAnswer]:
    """Search memories by meaning, by words, or by both."""
    return Request("POST", "search", body=dict(body), project_in="body")


def sessions_assemble(
    key: str, /, **body: Unpack[shapes.AssembleRequestRequest]
) -> Request[shapes.ContextOut]:
    """Build the context of a session within a budget of tokens."""
    return Request(
        "POST", path("sessions/{}/assemble", key), body=dict(body), project_in="body"
    )


def sessions_capabilities(
    key: str, /, **query: Unpack[shapes.SessionsCapabilitiesQuery]
) -> Request[shapes.CapabilitiesOut]:
    """List what the project's store can do."""
    return Request(
        "GET",
        path("sessions/{}/capabilities", key),
        query=dict(query),
        project_in="query",
    )


def sessions_claim(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.ClaimSessionRequest],
) -> Request[shapes.SessionOut]:
    """Give an anonymous session to a user."""
    return Request(
        "POST",
        path("sessions/{}/claim", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_compact(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.CompactRequestRequest],
) -> Request[shapes.SessionCompactionOut | shapes.CompactionJobOut]:
    """Replace old messages of the context by summaries."""
    return Request(
        "POST",
        path("sessions/{}/compact", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_compaction(
    key: str, /, **query: Unpack[shapes.SessionsCompactionQuery]
) -> Request[shapes.NeedOut]:
    """Ask whether a session needs a compaction."""
    return Request(
        "GET",
        path("sessions/{}/compaction", key),
        query=dict(query),
        project_in="query",
    )


def sessions_create(
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.BootstrapSessionRequest],
) -> Request[shapes.SessionOut]:
    """Make a session, or find it by its key."""
    return Request(
        "POST",
        "sessions",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_delete(
    key: str, /, **query: Unpack[shapes.SessionsDeleteQuery]
) -> Request[None]:
    """Archive a session; nothing is destroyed."""
    return Request(
        "DELETE", path("sessions/{}", key), query=dict(query), project_in="query"
    )


def sessions_fork(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.ForkSessionRequest],
) -> Request[shapes.SessionOut]:
    """Begin a new session with the messages up to one."""
    return Request(
        "POST",
        path("sessions/{}/fork", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_list(
    **query: Unpack[shapes.SessionsListQuery],
) -> Request[shapes.SessionPage]:
    """List sessions, the last active first."""
    return Request("GET", "sessions", query=dict(query), project_in="query")


def sessions_memory_tool(
    key: str, /, **query: Unpack[shapes.SessionsMemoryToolQuery]
) -> Request[shapes.ToolOut]:
    """Read the definition of the memory tool."""
    return Request(
        "GET",
        path("sessions/{}/memory-tool", key),
        query=dict(query),
        project_in="query",
    )


def sessions_memory_tool_call(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.MemoryToolCallRequest],
) -> Request[shapes.ToolAnswerOut]:
    """Call the memory tool."""
    return Request(
        "POST",
        path("sessions/{}/memory-tool", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_messages_append(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.AppendMessagesRequest],
) -> Request[shapes.AppendOut]:
    """Append messages."""
    return Request(
        "POST",
        path("sessions/{}/messages", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_messages_delete(
    key: str, /, **query: Unpack[shapes.SessionsMessagesDeleteQuery]
) -> Request[shapes.UndoOut]:
    """Hide the messages from one to the end."""
    return Request(
        "DELETE",
        path("sessions/{}/messages", key),
        query=dict(query),
        project_in="query",
    )


def sessions_messages_list(
    key: str, /, **query: Unpack[shapes.SessionsMessagesListQuery]
) -> Request[shapes.MessagePage]:
    """Read the messages of a session in their order."""
    return Request(
        "GET", path("sessions/{}/messages", key), query=dict(query), project_in="query"
    )


def sessions_messages_search(
    key: str, /, **body: Unpack[shapes.SearchSessionRequest]
) -> Request[shapes.SessionSearchOut]:
    """Search the messages and summaries of one session."""
    return Request(
        "POST", path("sessions/{}/search", key), body=dict(body), project_in="body"
    )


def sessions_read(
    key: str, /, **query: Unpack[shapes.SessionsReadQuery]
) -> Request[shapes.SessionOut]:
    """Read a session."""
    return Request(
        "GET", path("sessions/{}", key), query=dict(query), project_in="query"
    )


def sessions_redact(
    key: str,
    seq: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.RedactMessageRequest],
) -> Request[shapes.MessageOut]:
    """Replace the text of one message by [redacted]."""
    return Request(
        "POST",
        path("sessions/{}/messages/{}/redact", key, seq),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_review(
    key: str, /, **query: Unpack[shapes.SessionsReviewQuery]
) -> Request[shapes.ReviewOut]:
    """Read a session as text for a reviewer."""
    return Request(
        "GET", path("sessions/{}/review", key), query=dict(query), project_in="query"
    )


def sessions_search(
    **body: Unpack[shapes.SearchSessionsRequest],
) -> Request[shapes.SessionSearchOut]:
    """Search every session that you may see."""
    return Request("POST", "sessions/search", body=dict(body), project_in="body")


def sessions_snapshot(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.InSessionRequest],
) -> Request[shapes.SnapshotOut]:
    """Freeze what a session sees of its agent memory."""
    return Request(
        "POST",
        path("sessions/{}/snapshot", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_snapshot_advance(
    key: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.InSessionRequest],
) -> Request[shapes.SnapshotOut]:
    """Let a session see the present agent memory."""
    return Request(
        "POST",
        path("sessions/{}/snapshot/advance", key),
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def sessions_stats(
    key: str, /, **query: Unpack[shapes.SessionsStatsQuery]
) -> Request[shapes.StatsOut]:
    """Count the messages, tokens and summaries of a session."""
    return Request(
        "GET", path("sessions/{}/stats", key), query=dict(query), project_in="query"
    )


def sessions_summaries(
    key: str, /, **query: Unpack[shapes.SessionsSummariesQuery]
) -> Request[shapes.SummariesOut]:
    """List the summaries of a session as a forest."""
    return Request(
        "GET", path("sessions/{}/summaries", key), query=dict(query), project_in="query"
    )


def sessions_transcript_append(
    key: str,
    /,
    *,
    content: bytes,
    content_type: str = "application/octet-stream",
    agent_id: str | None = None,
    cursor: int | None = None,
    end_prefix: str | None = None,
    final: bool | None = None,
    format: Literal[
        "claude-code", "codex", "copilot", "gemini", "opencode", "chatgpt-export"
    ],
    prefix: str | None = None,
    project: str | None = None,
    project_id: str | None = None,
    user_id: str | int | None = None,
) -> Request[shapes.TranscriptReceiptOut]:
    """Store a part of a coding agent's transcript."""
    return Request(
        "POST",
        path("sessions/{}/transcript", key),
        content=content,
        content_type=content_type,
        query=without_none(
            {
                "agent_id": agent_id,
                "cursor": cursor,
                "end_prefix": end_prefix,
                "final": final,
                "format": format,
                "prefix": prefix,
                "project": project,
                "project_id": project_id,
                "user_id": user_id,
            }
        ),
        project_in="query",
    )


def sessions_transcript_read(
    key: str, /, **query: Unpack[shapes.SessionsTranscriptReadQuery]
) -> Request[shapes.TranscriptOut]:
    """Say how far a coding agent's transcript is known."""
    return Request(
        "GET",
        path("sessions/{}/transcript", key),
        query=dict(query),
        project_in="query",
    )


def sessions_update(
    key: str, /, **body: Unpack[shapes.PatchedUpdateSessionRequest]
) -> Request[shapes.SessionOut]:
    """Change the title, the metadata or the budget, or archive a session."""
    return Request(
        "PATCH", path("sessions/{}", key), body=dict(body), project_in="body"
    )


def settings_read(project_id: str, /) -> Request[shapes.ProjectOptions]:
    """Read a project's settings with all defaults."""
    return Request("GET", path("projects/{}/settings", project_id))


def settings_update(project_id: str, /, **body: Any) -> Request[shapes.ProjectOptions]:
    """Merge settings; null resets one to its default."""
    return Request("PATCH", path("projects/{}/settings", project_id), body=body)


def summaries_expand(
    summary_id: str, /, **query: Unpack[shapes.SummariesExpandQuery]
) -> Request[shapes.ExpandOut]:
    """Return what a summary was made of."""
    return Request("GET", path("summaries/{}/expand", summary_id), query=dict(query))


def summaries_read(summary_id: str, /) -> Request[shapes.DescribeOut]:
    """Describe a summary and its place in the tree."""
    return Request("GET", path("summaries/{}", summary_id))


def tags_create(
    *, idempotency_key: str | None = None, **body: Unpack[shapes.CreateTagRequest]
) -> Request[shapes.TagOut]:
    """Find a request's project, check the caller's role, and act once per Idempotency-Key."""
    return Request(
        "POST",
        "tags",
        idempotency_key=idempotency_key,
        body=dict(body),
        project_in="body",
    )


def tags_delete(tag_id: str, /) -> Request[None]:
    """Delete a tag and remove it from every memory."""
    return Request("DELETE", path("tags/{}", tag_id))


def tags_list(**query: Unpack[shapes.TagsListQuery]) -> Request[shapes.TagOutPage]:
    """List the tags of a project, with the number of memories that use each tag."""
    return Request("GET", "tags", query=dict(query), project_in="query")


def tags_merge(
    tag_id: str,
    /,
    *,
    idempotency_key: str | None = None,
    **body: Unpack[shapes.MergeTagRequest],
) -> Request[shapes.TagOut]:
    """Replace a tag with another one in every memory."""
    return Request(
        "POST",
        path("tags/{}/merge", tag_id),
        idempotency_key=idempotency_key,
        body=dict(body),
    )


def tags_update(
    tag_id: str, /, **body: Unpack[shapes.PatchedUpdateTagRequest]
) -> Request[shapes.TagOut]:
    """Describe a tag, or rename it in every memory."""
    return Request("PATCH", path("tags/{}", tag_id), body=dict(body))


def users_memory(
    user_id: str, /, **query: Unpack[shapes.UsersMemoryQuery]
) -> Request[shapes.PersonOut]:
    """Read what is known about a user."""
    return Request(
        "GET", path("users/{}/memory", user_id), query=dict(query), project_in="query"
    )


def users_memory_update(
    user_id: str, /, **body: Unpack[shapes.PatchedSwitchMemoryRequest]
) -> Request[shapes.SwitchOut]:
    """Turn the memory of a user on or off."""
    return Request(
        "PATCH", path("users/{}/memory", user_id), body=dict(body), project_in="body"
    )
