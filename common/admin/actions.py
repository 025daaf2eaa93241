"""What a person does to a row: a button on its page and an action in its list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from common.caller import Caller, Role


def _always(row: Any) -> bool:
    return True


@dataclass(frozen=True)
class AdminAction:
    """A door to one function: `do(row, caller, text)`; its refusals become messages.

    `text` is what the person typed into a field labelled `asks`; empty without one.
    It is chosen among `choices`, or begins as `starts_with(row)` in a larger field. A
    deed that `needs_text` is not offered in lists. The row is the one that the page
    showed, else the deed is refused.
    """

    name: str
    label: str
    role: Role
    do: Callable[[Any, Caller, str], object]
    done: str
    fits: Callable[[Any], bool] = _always
    asks: str = ""
    choices: tuple[str, ...] = ()
    starts_with: Callable[[Any], str] | None = None
    longest: int = 500  # characters of the text
    needs_text: bool = False
    is_final: bool = False

    def starting(self, row: Any) -> str:
        return self.starts_with(row) if self.starts_with else ""
