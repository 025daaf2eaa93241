from __future__ import annotations

from axes.models import (
    AccessAttempt,
    AccessAttemptExpiration,
    AccessFailureLog,
    AccessLog,
)
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Q

from access.models import ApiKey, IdempotencyKey
from common.erasure.handlers import ErasableColumns, ErasureHandler, register
from common.erasure.redaction import json_redactor
from common.erasure.references import rows_referencing

# What a client needs of the answer when it repeats a request.
KEPT_KEYS = ("status", "state", "kind", "operation", "memory_type", "category")
SIGN_IN = "who signed in and from where, which the lock is for; kept for a time"
ACCOUNT = "an account of the browser, ended by deleting it"
CODE = "made by the service, of no text"


@register
class AccessErasure(ErasureHandler):
    erasable = (
        ErasableColumns(
            IdempotencyKey,
            lambda erasure: rows_referencing(
                IdempotencyKey.objects.filter(
                    Q(project_id=erasure.project_id) | Q(project_id=None)
                ),
                erasure.all_ids,
                "answer",
            ),
            {"answer": json_redactor(*KEPT_KEYS)},
        ),
    )
    no_text = {
        IdempotencyKey: {
            **dict.fromkeys(
                ("actor", "route", "key"), "names of a key, a route, a try"
            ),
            "body_hash": "the hash of a whole request, kept 7 days",
        },
        ApiKey: {
            **dict.fromkeys(("name", "agent_id", "user_id", "created_by"), ACCOUNT),
            **dict.fromkeys(("prefix", "hash"), CODE),
        },
        User: dict.fromkeys(
            ("password", "username", "first_name", "last_name", "email"), ACCOUNT
        ),
        Group: {"name": ACCOUNT},
        Permission: dict.fromkeys(("name", "codename"), CODE),
        ContentType: dict.fromkeys(("app_label", "model"), CODE),
        Session: dict.fromkeys(("session_key", "session_data"), ACCOUNT),
        **{
            model: {
                field.name: SIGN_IN
                for field in model._meta.concrete_fields
                if not field.is_relation
            }
            for model in (
                AccessAttempt,
                AccessAttemptExpiration,
                AccessFailureLog,
                AccessLog,
            )
        },
    }
