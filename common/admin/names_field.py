"""A form field for several names in one line."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from common.text import comma_list


class NamesField(forms.CharField):
    """Names that are separated by commas. The value is their list."""

    widget = UnfoldAdminTextInputWidget

    def __init__(self) -> None:
        super().__init__(
            required=False,
            strip=False,
            help_text="Separated by commas. A name with a comma is put in quotation marks.",
        )

    def prepare_value(self, value: Any) -> Any:
        return comma_list.join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        return comma_list.split(super().clean(value))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return comma_list.split(data or "") != list(initial or ())
