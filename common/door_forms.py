"""A form of the admin that calls one of the product's functions instead of saving."""

from __future__ import annotations

from typing import Any

from django import forms

from common import errors
from common.caller import Caller


class DoorForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """`apply()` calls the function and returns the row; a refusal is shown as errors.

    It runs as the last step of the form's checks, so that what was typed stays on the
    page when the function refuses. Uniqueness is the function's own question.
    """

    caller: Caller

    def apply(self) -> Any:
        raise NotImplementedError

    def validate_unique(self) -> None:
        return None

    def validate_constraints(self) -> None:
        return None

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # a hook of Django without a stub
        if self.errors:
            return
        try:
            self.saved = self.apply()
        except errors.Refusal as refusal:
            self._show(refusal)

    def _show(self, refusal: errors.Refusal) -> None:
        for path, told in refusal.errors.items():
            name, _, rest = path.partition(".")
            field = name if name in self.fields else None
            where = rest if field else path
            self.add_error(field, [f"{where}: {one}" if where else one for one in told])
        if not refusal.errors:
            self.add_error(None, refusal.detail)

    def save(self, commit: bool = True) -> Any:
        return self.saved
