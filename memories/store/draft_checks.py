"""Check a draft against the rules of its project."""

from __future__ import annotations

from dataclasses import replace

from common import errors
from common.caller import Caller
from common.text.normalise import normalise
from common.text.plain_text import measure
from memories.scopes import Scope
from memories.store.claimed_source import check_source
from memories.store.drafts import Draft, unique_refs
from memories.store.secret_policy import guard_draft
from projects.models import Project


def check_draft(project: Project, draft: Draft, caller: Caller) -> Draft:
    """Normalise a draft and apply the rules of the project.

    If the draft breaks a rule, refuse the draft and name the field.
    """
    refuse_short(project, draft)
    draft = check_source(draft, project.pk, caller)
    draft = replace(
        draft,
        agent_id=caller.agent_id_for(draft.agent_id),
        user_id=caller.user_id or draft.user_id,
        scope=draft.scope or Scope("workspace", str(project.pk)),
        key=normalise(draft.key, "NFC"),
        tags=tuple(dict.fromkeys(draft.tags)),
        files=unique_refs(draft.files),
    )
    return guard_draft(project.options.secrets, draft)


def refuse_short(project: Project, draft: Draft) -> None:
    """Refuse a content that is shorter than the project's minimum.

    The minimum holds for notes only. A letter of Chinese, Japanese or Korean counts as
    three characters, because it says as much.
    """
    least = draft.min_length
    if least is None:
        least = project.options.content_min if draft.kind == "note" else 1
    if measure(draft.content) < least:
        raise errors.Invalid(
            f"content needs at least {least} characters.",
            errors={"content": [f"Ensure it has at least {least} characters."]},
        )
