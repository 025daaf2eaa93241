"""What mem0's platform has and this service has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from common import errors


class UnsupportedOption(errors.Invalid):
    """This service has no such option of mem0; the detail says what to send."""

    code = "unsupported_option"


class UnsupportedFilter(errors.Invalid):
    """This service cannot filter by that; docs/mem0.md lists the filters."""

    code = "unsupported_filter"


class MissingFeature(errors.Refusal):
    """This service does not offer this part of mem0; docs/mem0.md says what to use."""

    status = 501
    code = "not_offered"


def refuse_options(data: Any, unsupported: Mapping[str, str]) -> None:
    """Refuse the options of a request that are set and have no counterpart here.

    `unsupported` says for each name what to do instead.
    """
    wrong = {
        name: [mend]
        for name, mend in unsupported.items()
        if (value := data.get(name)) is not None and value is not False
    }
    if wrong:
        detail = " ".join(f"{name}: {mend}" for name, (mend,) in wrong.items())
        raise UnsupportedOption(detail, errors=wrong)
