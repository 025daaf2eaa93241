"""Alice's project holds one row of everything, with a hostile text in every field."""

from __future__ import annotations

import uuid

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.models import ApiKey
from ace.models import AceRun, Reflection
from agents.models import AgentRun, AgentTool
from audit.models import AuditEvent
from common.caller import Role
from conversations.models import (
    AgentMemory,
    AgentMemoryChange,
    Invocation,
    Message,
    Session,
    Summary,
)
from conversations.search_index import search_columns as session_indexing
from inference.models import ActiveModel, ModelCall
from jobs.models import Heartbeat, Job
from memories.models import (
    File,
    Memory,
    MemoryChange,
    MemoryFile,
    PossibleDuplicate,
    Purge,
    Tag,
)
from memories.scopes import Scope
from memories.store import search_columns as memory_indexing
from playbook.entries import entry_index as entry_indexing
from playbook.history import revision
from playbook.models import (
    Exposure,
    Playbook,
    PlaybookChange,
    PlaybookDelta,
    PlaybookEntry,
    Support,
)
from projects.models import Membership

MARK = "zebrafinch"  # in every text of Alice's, and nowhere else
SCRIPT = f'{MARK}<script>alert(1)</script>"><img src=x onerror=alert(2)>{{{{7*7}}}}'
HOSTILE = f"{SCRIPT} \u202eabc שלום 😀 </pre></td></table>" + "W" * 50_000
TREE = {SCRIPT: [HOSTILE, {"deep": [None, 1.5, SCRIPT]}]}
NOW = timezone.now


def cut(length):
    return HOSTILE[:length]


@pytest.fixture(autouse=True)
def _plain_static_files(settings):
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {
            "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        },
    }


def shortened(fields):
    """Only the start of long texts is indexed: these tests are about showing them."""
    return {k: v[:1_000] if isinstance(v, str) else v for k, v in fields.items()}


def saved(row, fields):
    for name, value in fields.items():
        setattr(row, name, value)
    row.save()
    return row


def person(name, **fields):
    return User.objects.create_user(name, password=None, is_staff=True, **fields)


def signed_in(account):
    client = Client()
    client.force_login(account, "django.contrib.auth.backends.ModelBackend")
    client.account = account
    return client


def queries_of(browser, address):
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(address).status_code == 200
    return [query["sql"] for query in captured]


@pytest.fixture
def browser_of(project):
    """Sign somebody in who has a role in Alice's project: `browser_of(Role.VIEWER)`."""

    def make(role, name="", at=project):
        account = person(name or Role(role).label)
        Membership.objects.create(project=at, account=account, role=role)
        return signed_in(account)

    return make


@pytest.fixture
def superuser(db):
    return signed_in(person("root", is_superuser=True))


@pytest.fixture
def owner(browser_of):
    return browser_of(Role.OWNER, name="alice")


@pytest.fixture
def curator(browser_of):
    return browser_of(Role.CURATOR, name="bob")


@pytest.fixture
def charlies(browser_of, other_project):
    return browser_of(Role.OWNER, name="charlie", at=other_project)


@pytest.fixture
def a_memory(project):
    def make(**fields):
        memory = Memory(
            **{
                "project": project,
                "organization_id": project.organization_id,
                "agent_id": "agent",
                "memory_type": "learning",
                "content": f"{MARK} {uuid.uuid4()}",
                "scope_key": str(project.pk),
                "scope_hash": Scope("workspace", str(project.pk)).hash,
            }
            | shortened(fields)
        )
        memory_indexing.fill(memory, "english")
        return saved(memory, fields)

    return make


@pytest.fixture
def an_entry(project):
    def make(label, **fields):
        entry = PlaybookEntry(
            **{
                "project": project,
                "label": label,
                "content": f"{MARK} {uuid.uuid4()}",
                "category": "gotchas",
                "author_kind": "rule",
                "created_at": NOW(),
                "updated_at": NOW(),
                "created_by": SCRIPT,
            }
            | shortened(fields)
        )
        entry_indexing.fill(entry, "english")
        return saved(entry, fields)

    return make


def agent_rows(project, session):
    """An invocation, a run and a tool."""
    texts = dict.fromkeys(("query", "summary", "result"), HOSTILE)
    step = {"thought": HOSTILE, "action": SCRIPT, "arguments": TREE}
    call = step | {"observation": HOSTILE}
    return [
        Invocation.objects.create(
            session=session, project_id=project.pk, seq=1, **texts
        ),
        AgentRun.objects.create(
            project=project,
            session_id=session.pk,
            conversation_id=cut(200),
            user_id=cut(255),
            agent_id=cut(255),
            actor=cut(200),
            request={"question": SCRIPT, "history": [call]},
            steps=[call],
            pending_call=step,
            answer=HOSTILE,
            error={"type": "agent-error", "message": HOSTILE},
            memory=TREE,
            learned=TREE,
            status="failed",
        ),
        AgentTool.objects.create(
            project=project,
            name=cut(64),
            description=HOSTILE,
            url=cut(2000),
            headers=TREE,
            groups=[SCRIPT],
            states=[SCRIPT],
            listing=TREE,
        ),
    ]


def session_rows(project):
    """A session with one message of every part, its leaf, and the notes of its agent."""
    session = Session.objects.create(
        project=project,
        key=cut(200),
        agent_id=cut(255),
        user_id=cut(255),
        channel=cut(100),
        title=cut(500),
        metadata=TREE,
        last_seq=1,
        message_count=1,
        token_count=99,
        context_tokens=99,
    )
    summary = Summary(
        session=session,
        project_id=project.pk,
        kind="leaf",
        content=SCRIPT,
        tokens=9,
        earliest_at=NOW(),
        latest_at=NOW(),
        first_seq=1,
        last_seq=1,
        message_count=1,
        summarizer=cut(50),
        model=cut(300),
    )
    session_indexing.fill_summary(summary, "english")
    saved(summary, {"content": HOSTILE})
    message = Message(
        session=session,
        project_id=project.pk,
        seq=1,
        role="user",
        parts=[{"type": "text", "text": SCRIPT}],
        tokens=9,
        leaf=summary,
        external_id=cut(255),
        metadata=TREE,
    )
    session_indexing.fill_message(message, "english")
    call = {"id": cut(50), "name": SCRIPT}
    parts = [
        {"type": "text", "text": HOSTILE},
        {"type": "thinking", "text": HOSTILE},
        {"type": "tool_call", **call, "arguments": TREE},
        {"type": "tool_result", **call, "content": HOSTILE, "is_error": True},
        {
            "type": "attachment",
            "media_type": SCRIPT,
            "name": SCRIPT,
            "url": "javascript:alert(1)",
        },
    ]
    saved(message, {"parts": parts, "text": HOSTILE})
    pair = {"user_id": cut(255), "agent_id": cut(255)}
    return [
        session,
        summary,
        message,
        *agent_rows(project, session),
        AgentMemory.objects.create(
            project=project,
            profile=HOSTILE,
            soul=HOSTILE,
            constraints=[
                {"id": SCRIPT, "text": HOSTILE, "created_at": NOW().isoformat()}
            ],
            version=2,
            **pair,
        ),
        AgentMemoryChange.objects.create(
            project_id=project.pk,
            session_id=session.pk,
            session_key=cut(200),
            scope="profile",
            action="update",
            source="agent",
            version_before=1,
            version_after=2,
            before_text=SCRIPT,
            after_text=HOSTILE,
            actor=cut(200),
            **pair,
        ),
    ]


@pytest.fixture
def world(project, a_memory, an_entry):
    """{model: a row of it}, all of them Alice's."""
    root = User.objects.create_user(cut(150))
    texts = ("content", "goal", "result", "feedback", "outcome", "lessons")
    hostile = dict.fromkeys(texts, HOSTILE)
    memory = a_memory(
        **hostile,
        title=cut(500),
        agent_id=cut(255),
        user_id=cut(255),
        tags=[cut(64), SCRIPT[:60]],
        metadata=TREE,
        provenance=TREE,
        value=TREE,
        steps=[TREE],
        tool_usage=[TREE],
        created_in_session_id=cut(255),
        delete_reason=cut(500),
    )
    other = a_memory(superseded_by=memory)
    file = File.objects.create(
        project=project, file_path=cut(1000), file_type=cut(32), renamed_from=[HOSTILE]
    )
    entry = an_entry(
        "gotchas-00001",
        content=HOSTILE,
        condition=HOSTILE,
        action=HOSTILE,
        tags=[cut(64)],
        aliases=[cut(64)],
    )
    elder = an_entry("gotchas-00002")
    run = AceRun.objects.create(
        project=project,
        agent_id=cut(255),
        actor=cut(200),
        memory=memory,
        request={
            **dict.fromkeys(("goal", "result", "feedback"), HOSTILE),
            "tool_usage": [TREE, SCRIPT],
            SCRIPT: SCRIPT,
        },
        phases={
            SCRIPT: {
                "status": SCRIPT,
                "started_at": NOW().isoformat(),
                "took_ms": 12.5,
                "error": HOSTILE,
            }
        },
        result=TREE,
    )
    quote = {"field": SCRIPT, "start": 0, "end": 9, "quote": HOSTILE}
    delta = PlaybookDelta.objects.create(
        project=project,
        operation="update",
        entry=entry,
        content=HOSTILE,
        payload=TREE,
        reason=cut(1000),
        evidence=[quote, SCRIPT],
        gates=[{"name": SCRIPT, "verdict": "fail", "value": 0.5, "threshold": SCRIPT}],
        producer="rule",
        producer_name=cut(100),
        proposed_by=cut(200),
        agent_id=cut(255),
        run_id=run.pk,
        memory_id=memory.pk,
        idempotency_key="k",
        review_note=cut(1000),
    )
    sign_in = {
        "username": cut(150),
        "ip_address": "10.0.0.1",
        "user_agent": cut(255),
        "path_info": cut(255),
    }
    key, _ = ApiKey.new(name=cut(200), agent_id=cut(255), created_by=cut(200))
    key.save()
    key.projects.set([project])
    rows = [
        *session_rows(project),
        memory,
        file,
        entry,
        run,
        delta,
        key,
        root,
        project,
        project.organization,
        MemoryChange.objects.create(
            memory_id=memory.pk,
            project_id=project.pk,
            action="update",
            actor=cut(200),
            before=TREE,
            after=TREE,
            reason=cut(500),
        ),
        MemoryFile.objects.create(memory=memory, file=file, line_start=1, line_end=2),
        Tag.objects.create(
            project=project, name=cut(64), description=HOSTILE, category=cut(64)
        ),
        PossibleDuplicate.objects.create(
            project=project,
            memory=memory,
            other=other,
            similarity=0.96,
            why_not_merged=cut(300),
            note=cut(500),
        ),
        Purge.objects.create(
            project=project,
            selection=TREE,
            reason=cut(500),
            actor=cut(200),
            counts={SCRIPT: 3},
        ),
        Playbook.objects.create(project=project, revision=3),
        PlaybookChange.objects.create(
            project_id=project.pk,
            revision=1,
            operation="update",
            action="update",
            entry_id=entry.pk,
            entry_label="gotchas-00001",
            before=TREE | revision.entry_values(elder),
            after=TREE | revision.entry_values(entry),
            actor=cut(200),
            reason=cut(1000),
            delta_id=delta.pk,
            run_id=run.pk,
            related_memory_id=memory.pk,
            changed_at=NOW(),
        ),
        Support.objects.create(entry=entry, memory=memory),
        Exposure.objects.create(
            project=project, entry=entry, run_id=run.pk, agent_id=cut(255)
        ),
        Reflection.objects.create(
            run=run,
            project=project,
            outcome="failure",
            outcome_source="wording",
            outcome_confidence=0.5,
            outcome_reason=cut(500),
            errors=[{"error_type": HOSTILE, "message": HOSTILE, "evidence": [quote]}],
            lessons=[TREE],
            insights=[TREE],
            votes=[TREE],
            related=[TREE],
            abstained=cut(500),
        ),
        ModelCall.objects.create(
            project_id=project.pk,
            run_id=run.pk,
            purpose=cut(40),
            prompt_version=cut(40),
            model=cut(300),
            outcome="failed",
            error=cut(500),
        ),
        Job.objects.create(
            kind=MARK,
            project_id=project.pk,
            state="failed",
            error=HOSTILE,
            args=TREE,
            result=TREE,
            cursor=TREE,
            key=cut(200),
        ),
        Heartbeat.objects.create(name=SCRIPT[:60], at=NOW(), detail=TREE),
        ActiveModel.objects.create(name=cut(300), choice=TREE),
        AuditEvent.objects.create(
            verb=MARK,
            actor=cut(200),
            project_id=project.pk,
            object_type="memory",
            object_id=str(memory.pk),
            detail=TREE,
            agent_id=cut(255),
        ),
        Membership.objects.create(project=project, account=root, role=Role.VIEWER),
        AccessAttempt.objects.create(
            **sign_in, get_data=SCRIPT, post_data=SCRIPT, failures_since_start=3
        ),
        AccessLog.objects.create(**sign_in),
    ]
    return {type(row): row for row in rows}


@pytest.fixture
def many(project, a_memory, an_entry):
    """Make ten further rows of everything that grows."""

    def make_row(number):
        memory, entry = a_memory(tags=[f"t{number}"]), an_entry(f"general-{number:05}")
        run = AceRun.objects.create(
            project=project, agent_id="a", actor="a", memory=memory, request={}
        )
        Reflection.objects.create(
            run=run,
            project=project,
            outcome="success",
            outcome_source="test",
            outcome_confidence=1,
        )
        PlaybookDelta.objects.create(
            project=project,
            operation="update",
            entry=entry,
            producer="rule",
            proposed_by="a",
            idempotency_key=str(number),
        )
        PlaybookChange.objects.create(
            project_id=project.pk,
            revision=100 + number,
            operation="add",
            action="add",
            entry_id=entry.pk,
            entry_label=entry.label,
            actor="a",
            changed_at=NOW(),
        )
        File.objects.create(project=project, file_path=f"src/{number}.py")
        Tag.objects.create(project=project, name=f"t{number}")
        Job.objects.create(kind="embed", project_id=project.pk)
        AuditEvent.objects.create(verb="v", actor="a", project_id=project.pk)
        key, _ = ApiKey.new(name=f"key {number}")
        key.save()
        key.projects.set([project])

    return lambda: [make_row(number) for number in range(10)]
