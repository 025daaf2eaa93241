"""Forms of the admin that call a function of the product instead of saving a model."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms

from common import errors
from common.caller import Caller
from common.secret_masks import mask_value
from common.text import plain_text


class ApplyMixin(forms.BaseForm):
    """Call `apply()` as the last step of validation; show a refusal as form errors.

    The page therefore keeps its input when the function refuses. `result` is the return
    value of `apply()`. `changed_data` ignores changes that a browser and the fields make to
    every text.
    """

    caller: Caller
    result: Any
    # The fields in which `apply()` masks or refuses the secrets itself.
    self_guarded: ClassVar[frozenset[str]] = frozenset()

    def _widget_data_value(self, widget: forms.Widget, html_name: str) -> Any:
        value = super()._widget_data_value(widget, html_name)  # type: ignore[misc]  # a hook of Django without a stub
        return plain_text.with_newlines(value) if isinstance(value, str) else value

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        """Return a stored text as the browser sends it back unchanged."""
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
        self._mask_secrets()
        try:
            self.result = self.apply()
        except errors.Refusal as refusal:
            self._add_refusal(refusal)

    def _mask_secrets(self) -> None:
        for name, value in self.cleaned_data.items():
            if name not in self.self_guarded and isinstance(
                value, str | list | tuple | dict
            ):
                self.cleaned_data[name], _ = mask_value(value, name)

    def _add_refusal(self, refusal: errors.Refusal) -> None:
        for path, texts in refusal.errors.items():
            name, _, rest = path.partition(".")
            field = name if name in self.fields else None
            place = rest if field else path
            self.add_error(field, [f"{place}: {t}" if place else t for t in texts])
        if not refusal.errors:
            self.add_error(None, refusal.detail)


class ActionForm(ApplyMixin, forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """The form of a row; `apply()` returns the row and checks that the row is unique."""

    def validate_unique(self) -> None:
        return None

    def validate_constraints(self) -> None:
        return None

    def save(self, commit: bool = True) -> Any:
        return self.result
