"""Phrase the fix of a failed call, with values that the texts of the task contain."""

from __future__ import annotations

import re
from collections.abc import Callable

from ace.rules import word_tables
from ace.rules.repairs import argument_values, call_repairs
from ace.rules.repairs.argument_changes import MISSING, MissingValue
from ace.rules.repairs.call_repairs import Remedy, Repair
from ace.rules.task import Task, ToolCall

MAX_VALUE = 60


_STEM = re.compile(
    r"(?P<stem>[A-Za-z]{2,30}(?:[_-][A-Za-z]{2,30}){0,4}[_-])[\w-]{0,40}\d[\w-]{0,40}"
)
_SENSITIVE = re.compile(
    r"token|secret|passw|authori[sz]ation|api_?key|cookie|credential|\bkey\b",
    re.IGNORECASE,
)
# An error that asks for an argument, and one that refuses a kind of value.
_MISSING = re.compile(
    r"\b(?:missing|required?|requires|needs?|expects?|provide|specify|without|undefined"
    r"|must (?:be|have|include|contain)|no \w{1,30} (?:given|specified|provided))\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(?:can ?not|can't|not (?:be|a|an|allowed|accepted|supported|permitted|valid)|only"
    r"|must|invalid|unsupported|not one of|expected)\b",
    re.IGNORECASE,
)
# An error about the values that an argument takes, and not about how things are now.
_NAMES_VALUES = re.compile(
    r"\b(?:must (?:be|have)|one of|expect(?:s|ed)|(?:valid|allowed|known|possible|supported)"
    r" (?:values?|options?|choices?)|options are|choose from|invalid|unsupported"
    r"|not (?:a )?(?:valid|allowed|accepted|supported|permitted))\b",
    re.IGNORECASE,
)
_NUMBER_KEYS = word_tables.read("number_arguments")
# A member of a closed set, not the name of a thing.
_WORD = re.compile(
    r"[a-z]{1,20}(?:[ _-][a-z]{1,20}){0,2}|[A-Z]{1,20}(?:_[A-Z]{1,20}){0,2}"
)
_FORMAT_WORDS = word_tables.read("format_words")


def find(task: Task, repair: Repair) -> Remedy | None:
    """Phrase the fix as an action. Return None if the fix helps only in this task."""
    if repair.change is None:
        return _call_first(task, repair) if repair.failed_call.is_of_domain else None
    of_domain = repair.failed_call.is_of_domain
    rules = _RULES if of_domain else _RULES_OF_ARGUMENTS
    return next((found for rule in rules if (found := rule(task, repair))), None)


def _rename_argument(task: Task, repair: Repair) -> Remedy | None:
    gone = [one for one in repair.changes if one.after is MISSING]
    new = [one for one in repair.changes if one.before is MISSING]
    if len(gone) != 1 or len(new) != 1 or gone[0].before != new[0].after:
        return None
    if gone[0].key == new[0].key:
        wrapped = len(new[0].path) > len(gone[0].path)
        kinds = ("a list", "a bare value") if wrapped else ("a bare value", "a list")
        return Remedy(f"pass `{new[0].key}` as {kinds[0]}", kinds[1])
    return Remedy(f"pass `{new[0].key}`", f"`{gone[0].key}`")


def _add_argument(task: Task, repair: Repair) -> Remedy | None:
    change = repair.change
    if change is None or change.before is not MISSING:
        return None
    error = call_repairs.error_text(repair.failed_call)
    if not _MISSING.search(error) or not call_repairs.words(
        change.key
    ) & call_repairs.error_words(repair.failed_call):
        return None
    if isinstance(change.after, bool):
        value = argument_values.render(change.after)
        return Remedy(f"pass `{change.key}` as {value}", "leaving it out")
    return Remedy(f"pass `{change.key}`", "leaving it out")


def _drop_argument(task: Task, repair: Repair) -> Remedy | None:
    change = repair.change
    if change is None or change.after is not MISSING:
        return None
    if change.key.lower() not in call_repairs.error_text(repair.failed_call).lower():
        return None
    return Remedy(f"leave out `{change.key}`", "passing it")


def _change_type(task: Task, repair: Repair) -> Remedy | None:
    change = repair.change
    if change is None or isinstance(change.before, MissingValue):
        return None
    old, new = (
        argument_values.type_of(change.before),
        argument_values.type_of(change.after),
    )
    same = str(change.before).strip("[]'\" ") == str(change.after).strip("[]'\" ")
    if old and new and old != new and same:
        return Remedy(f"pass `{change.key}` as {new}", old)
    return None


def _change_format(task: Task, repair: Repair) -> Remedy | None:
    change = repair.change
    if change is None:
        return None
    old, new = change.before, change.after
    if not isinstance(old, str) or not isinstance(new, str) or len(new) > MAX_VALUE:
        return None
    names_format = call_repairs.error_words(repair.failed_call) & _FORMAT_WORDS
    if (
        names_format
        and not _SENSITIVE.search(change.key)
        and any(map(str.isdigit, new))
        and argument_values.shape_of(old) != argument_values.shape_of(new)
    ):
        return Remedy(
            f'pass `{change.key}` in the form "{new}"', f'"{old[:MAX_VALUE]}"'
        )
    return None


_UNKNOWN_VALUE = re.compile(
    r"\b(?:not found|(?:does|do) ?n[o']t exist|no such|unknown|invalid|unrecognized"
    r"|not (?:a )?valid|cannot find|could not find|undefined|no (?:\w{1,20} )?match\w{0,3})\b",
    re.IGNORECASE,
)


def _look_up(task: Task, repair: Repair) -> Remedy | None:
    """Take the right value from the tool that returned it. No tool returned the wrong value."""
    change = repair.change
    if change is None or not isinstance(change.after, str) or len(change.after) < 4:
        return None
    if not _UNKNOWN_VALUE.search(call_repairs.error_text(repair.failed_call)):
        return None
    wrong = change.before if isinstance(change.before, str) else ""
    if not wrong or any(
        wrong in call.result
        for call in call_repairs.earlier_results(task, repair.failed_call.index)
    ):
        return None
    for call in call_repairs.earlier_results(task, repair.fixed_call.index):
        if (
            call.tool_name != repair.failed_call.tool_name
            and call.kind in ("read", "search")
            and change.after in call.result
        ):
            return Remedy(
                f"take `{change.key}` from {_source(call)}",
                "guessing it",
                call,
                change.after,
            )
    return None


def _source(call: ToolCall) -> str:
    return f"`{call_repairs.tool_label(call)}`"


def _change_stem(task: Task, repair: Repair) -> Remedy | None:
    """Name the prefix that the right id has. The rest of the id helps only in this task."""
    change = repair.change
    if change is None:
        return None
    old, new = (_STEM.fullmatch(str(value)) for value in (change.before, change.after))
    if not old or not new or old["stem"] == new["stem"]:
        return None
    if not _REFUSED.search(call_repairs.error_text(repair.failed_call)):
        return None
    return Remedy(
        f'pass a `{change.key}` that starts with "{new["stem"]}"', f'"{old["stem"]}"'
    )


def _choose_value(task: Task, repair: Repair) -> Remedy | None:
    """Pass a value that means the same in every task: a word, a flag, a known limit."""
    change = repair.change
    if change is None or isinstance(change.before, MissingValue):
        return None
    if not argument_values.is_plain(change.after) or not argument_values.is_plain(
        change.before
    ):
        return None
    error = call_repairs.error_text(repair.failed_call)
    is_refused = _NAMES_VALUES.search(error) or (
        _UNKNOWN_VALUE.search(error) and _is_offered(repair)
    )
    if _SENSITIVE.search(change.key) or not is_refused:
        return None
    if isinstance(change.after, str) and not _WORD.fullmatch(change.after):
        return None
    numeric = argument_values.is_number(change.after)
    if numeric and not call_repairs.words(change.key) & _NUMBER_KEYS:
        return None
    return Remedy(
        f"pass `{change.key}` as {argument_values.render(change.after)}",
        argument_values.render(change.before),
    )


def _choose_offered(task: Task, repair: Repair) -> Remedy | None:
    return _choose_value(task, repair) if _is_offered(repair) else None


def _is_offered(repair: Repair) -> bool:
    """Whether the error names the new value. Where it repeats the old one does not count."""
    change = repair.change
    assert change
    error = call_repairs.error_text(repair.failed_call)
    return str(change.after) in error.replace(str(change.before), "")


def _add_prefix(task: Task, repair: Repair) -> Remedy | None:
    """Add the prefix of an id: `8476` becomes `#W8476`."""
    change = repair.change
    if change is None or not isinstance(change.before, str | int):
        return None
    old, new = str(change.before), str(change.after)
    mark = new.removesuffix(old)
    if len(old) < 3 or mark == new or not 0 < len(mark) <= 4 or '"' in mark:
        return None
    return Remedy(f'start `{change.key}` with "{mark}"', "leaving that out")


def _call_first(task: Task, repair: Repair) -> Remedy | None:
    """Call another tool first: the error names that tool, and the call succeeded after it."""
    error_words = call_repairs.error_words(repair.failed_call)
    between = task.calls[repair.failed_call.index + 1 : repair.fixed_call.index]
    for call in reversed(between):
        other = call.tool_name != repair.failed_call.tool_name and not call.has_failed
        if other and call_repairs.words(call.tool_name) & error_words:
            return Remedy(f"call `{call.tool_name}` first", "", call)
    return None


# What a tool takes. Of a tool for files, no other lesson holds beyond one file.
_RULES_OF_ARGUMENTS: tuple[Callable[[Task, Repair], Remedy | None], ...] = (
    _rename_argument,
    _add_argument,
    _drop_argument,
    _change_type,
    _choose_offered,
)
_RULES: tuple[Callable[[Task, Repair], Remedy | None], ...] = (
    _rename_argument,
    _add_argument,
    _drop_argument,
    _change_type,
    _change_format,
    _add_prefix,
    _look_up,
    _change_stem,
    _choose_value,
)
