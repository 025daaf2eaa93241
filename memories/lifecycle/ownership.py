"""Whose a memory is: that of the key that stored it, or of the user to whom it belongs."""

from __future__ import annotations

from access.models import ApiKey
from common.caller import Caller
from memories.models import Memory, MemoryChange
from memories.scopes import Scope


def is_own(memory: Memory, caller: Caller) -> bool:
    """Whether the caller stored the memory, or it belongs to the caller's user.

    A rotated key stays the same caller.
    """
    scope = Scope(memory.scope_kind, memory.scope_key, user=memory.scope_user)
    owner = memory.user_id or scope.owner
    if caller.user_id and owner == caller.user_id:
        return True
    names = ApiKey.objects.of_same_line(caller.key_id).caller_names()
    first = MemoryChange.objects.filter(memory_id=memory.pk).order_by("pk")
    author = first.values_list("actor", flat=True).first()
    return author in {caller.name, *names}
