"""Forms of the admin that call one of the product's functions instead of saving."""

from __future__ import annotations

from typing import Any

from django import forms

from common import errors
from common.caller import Caller
from common.text import plain_text


class ApplyMixin(forms.BaseForm):
    """`apply()` calls the function; a refusal is shown as errors.

    It runs as the last step of the form's checks, so that what was typed stays on the
    page when the function refuses. `saved` is what it returned. `changed_data` names
    what the person changed, not what a browser and the fields do to every text.
    """

    caller: Caller
    saved: Any

    def _widget_data_value(self, widget: forms.Widget, html_name: str) -> Any:
        value = super()._widget_data_value(widget, html_name)  # type: ignore[misc]  # a hook of Django without a stub
        return plain_text.with_newlines(value) if isinstance(value, str) else value

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        """A stored text as it comes back untouched."""
        value = super().get_initial_for_field(field, field_name)
        if not isinstance(value, str):
            return value
        value = plain_text.with_newlines(value)
        return value.strip() if getattr(field, "strip", False) else value

    def apply(self) -> Any:
        raise NotImplementedError

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


class ActionForm(ApplyMixin, forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """The form of a row; `apply()` returns it. Uniqueness is the function's question."""

    def validate_unique(self) -> None:
        return None

    def validate_constraints(self) -> None:
        return None

    def save(self, commit: bool = True) -> Any:
        return self.saved
