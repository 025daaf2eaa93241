"""Mask the secrets in a JSON value so that two identifiers stay two."""

from __future__ import annotations

import re
from typing import Any

from django.utils.crypto import salted_hmac

from common.text.json_secrets import JsonMasker

# Fields that name a row. Two of them stay two when their secrets are masked, because a mask
# in such a field ends with a mark of the secret that only this service can compute.
IDENTIFIERS = frozenset(
    [
        "agent_id",
        "agent_ids",
        "user_id",
        "session_id",
        "created_in_session_id",
        "workspace_id",
        "org_id",
        "object_id",
        "object_type",
        "key",
        "path",
        "paths",
        "file_path",
        "file_paths",
        "old_path",
        "new_path",
        "moved_from",
    ]
)
_MASK = re.compile(r"(\[secret:[\w-]+)\]")
MARK_LENGTH = 12  # hexadecimal digits


def mask_value(value: Any, name: str = "") -> tuple[Any, list[str]]:
    """Return a JSON value with its secrets masked, and the kinds of these secrets.

    `name` is the name of the value's field.
    """
    masker = JsonMasker(IDENTIFIERS, _distinguish)
    return masker.mask(value, name), list(masker.kinds)


def _distinguish(original: str, masked: str) -> str:
    """Mark the masks in an identifier with an HMAC of its original."""
    mark = salted_hmac("secret.identifier", original, algorithm="sha256").hexdigest()
    return _MASK.sub(rf"\1:{mark[:MARK_LENGTH]}]", masked)
