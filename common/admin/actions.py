"""Actions on a row: each is a button on the row's page and an action of the list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from common.caller import Caller, Role


def _always(row: Any, caller: Caller) -> bool:
    return True


@dataclass(frozen=True)
class AdminAction:
    """Call one function, `call(row, caller, text)`; its refusals become messages.

    `text` is the content of a field with the label `text_label`. Without a label, `text` is
    empty. With `choices`, the field is a select. With `initial_text(row)`, the field is a
    text area. An action that `needs_text` is not offered in lists. Such an action is
    refused if the row has changed since the page was rendered. A list calls `call_in_list`
    instead of `call` if it is given.
    """

    name: str
    label: str
    role: Role
    call: Callable[[Any, Caller, str], object]
    done_message: str
    is_possible: Callable[[Any, Caller], bool] = _always
    call_in_list: Callable[[Any, Caller, str], object] | None = None
    text_label: str = ""
    choices: tuple[str, ...] = ()
    initial_text: Callable[[Any], str] | None = None
    max_length: int = 500  # the most characters of the text
    needs_text: bool = False
    is_final: bool = False

    def initial_text_for(self, row: Any) -> str:
        return self.initial_text(row) if self.initial_text else ""
