"""What of a state finds episodes: the call and its errors, if the state is a failed call."""

from __future__ import annotations

from ace import errors

MAX_CALL = 300  # characters; as many as a step of an episode has of its arguments


def describe_state(state: str) -> str:
    """Return the first line of a state with the lines that tell its errors.

    Episodes have these lines in their steps. The places in them, and the rest of a long
    output, are of this case alone: rare words, which would outweigh the error. A state without
    a known error stays as it is.
    """
    first, _, rest = state.strip().partition("\n")
    told = [errors.cut_place(line) for line in errors.find_lines(rest)]
    return "\n".join([first[:MAX_CALL], *told]) if told else state.strip()
