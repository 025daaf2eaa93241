"""The form of the search page.

The API's serializer validates the form, so that the page and the API refuse the same
input.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django import forms
from django.forms import BoundField

from common import errors, replicas
from common.admin.action_forms import ApplyMixin
from common.api.problem import field_errors
from common.caller import Caller
from common.text import comma_list
from memories.models import Memory
from memories.read import search
from memories.read.search import SearchResult
from memories.scopes import KEY_FIELDS
from memories.serializers import search as api
from projects.models import Project

SHARED_SCOPE = ("", "shared: workspace and organization")
PROJECT_FUSION = ("", "as the project sets it")
FIELDSETS = {
    "What it is": ["memory_types", "kinds", "sensitivities", "include_duplicates"],
    "What it is about": ["tags", "tags_match", "file_paths", "metadata"],
    "Whose and when": ["agent_ids", "date_from", "date_to"],
    "Scope": ["scope", "scope_key", "scope_user", "object_type"],
    "Ranking": ["syntax", "fusion", "keyword", "semantic", "min_score", "cutoff"],
    "Explain": ["explain"],
}
# The form always sets these fields. `tags_match` has no effect without tags.
DEFAULTS = {"tags_match": "all", "syntax": "operators", "cutoff": "none"}


def text_field(label: str, help_text: str = "", **attrs: Any) -> forms.CharField:
    widget = forms.TextInput({"autocomplete": "off", **attrs})
    return forms.CharField(
        label=label, help_text=help_text, required=False, widget=widget
    )


def number_field(label: str, help_text: str = "", **attrs: Any) -> forms.CharField:
    widget = forms.NumberInput({"step": "any", **attrs})
    return forms.CharField(
        label=label, help_text=help_text, required=False, widget=widget
    )


def moment_field(label: str) -> forms.CharField:
    widget = forms.DateTimeInput({"type": "datetime-local"})
    return forms.CharField(label=label, required=False, widget=widget)


def choice_field(label: str, *options: tuple[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=options, required=False)


def checkboxes_field(
    label: str, options: Any, help_text: str = ""
) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label,
        choices=options,
        help_text=help_text,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )


def same_labels(*names: str) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


class SearchForm(ApplyMixin, forms.Form):
    """The fields of `POST /api/v1/search`. `saved` contains the answer of the search."""

    query = forms.CharField(
        required=False,
        strip=False,
        help_text='"Words in quotes" must stand side by side. -word leaves out what holds '
        "the word.",
        widget=forms.TextInput({"type": "search", "maxlength": 10_000}),
    )
    mode = choice_field("Mode", *same_labels("hybrid", "semantic", "keyword"))
    limit = number_field("Hits", min=1, max=100, step=1, placeholder=10)

    memory_types = checkboxes_field("Types", Memory.Type.choices)
    kinds = checkboxes_field("Kinds", Memory.Kind.choices)
    sensitivities = checkboxes_field(
        "Sensitivities", Memory.Sensitivity.choices, "None: public and private."
    )
    include_duplicates = forms.BooleanField(label="Duplicates too", required=False)
    tags = text_field("Tags", "Separated by commas.")
    tags_match = choice_field("Match", *same_labels("all", "any"))
    file_paths = forms.CharField(
        label="Files",
        help_text="A path on each line; one that ends in / or * matches all that begin with it.",
        required=False,
        widget=forms.Textarea({"rows": 2}),
    )
    metadata = text_field(
        "Metadata", 'JSON, such as {"stage": {"in": ["new", "open"]}}.'
    )
    agent_ids = text_field("Agents", "Separated by commas.")
    date_from = moment_field("Stored from")
    date_to = moment_field("Stored until")
    scope = choice_field("Kind", SHARED_SCOPE, *Memory.ScopeKind.choices)
    scope_key = text_field("Its key", "The id of the session, user or object.")
    scope_user = text_field("User", "The user of the session.")
    object_type = text_field("Type", "Of an object.")
    syntax = choice_field(
        "Quotes and dashes", ("operators", "are operators"), ("plain", "are text")
    )
    fusion = choice_field("Fusion", PROJECT_FUSION, *same_labels("relative", "rrf"))
    keyword = number_field("Weight of words", min=0, max=1)
    semantic = number_field("Weight of meaning", min=0, max=1)
    min_score = number_field("Least score")
    cutoff = choice_field(
        "Hits that only come nearest", ("none", "are shown"), ("auto", "are left out")
    )
    explain = forms.BooleanField(label="Explain how it was found", required=False)

    def __init__(self, *args: Any, project: Project, caller: Caller, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.project, self.caller = project, caller
        options = project.options.search
        for name, value in (
            ("keyword", options.keyword_weight),
            ("semantic", options.semantic_weight),
        ):
            self.fields[name].widget.attrs["placeholder"] = value

    @property
    def fieldsets(self) -> Iterator[tuple[str, list[BoundField]]]:
        return ((title, [self[n] for n in names]) for title, names in FIELDSETS.items())

    @property
    def filled_labels(self) -> list[str]:
        """Return the labels of all filled fields except the query."""
        fields = [self[name] for names in FIELDSETS.values() for name in names]
        return [
            str(field.label)
            for field in fields
            if field.value() and field.value() != DEFAULTS.get(field.name)
        ]

    @property
    def is_open(self) -> bool:
        """Whether to unfold all fields.

        All fields are unfolded if some of them are filled, unless a valid form was
        sent.
        """
        return bool(self.filled_labels) and not (self.is_bound and self.is_valid())

    def apply(self) -> SearchResult:
        form = api.SearchRequest(data=self.request)
        if not form.is_valid():
            raise errors.Invalid(errors=field_errors(form.errors, form))
        search_request = api.request_of(form.validated_data, self.project, self.caller)
        return replicas.read_from_replica(
            lambda: search.find(self.project, search_request, self.caller)
        )

    @property
    def request(self) -> dict[str, Any]:
        """Return the body of the API request, without empty fields."""
        data = self.cleaned_data
        weights = {n: data[n] for n in ("keyword", "semantic") if data[n]}
        api_fields = api.SearchRequest().get_fields()
        body = {name: value for name, value in data.items() if name in api_fields}
        body |= {
            "tags": comma_list.split(data["tags"]),
            "agent_ids": _split_values(data["agent_ids"], ","),
            "file_paths": _split_values(data["file_paths"], "\n"),
            "metadata": _read_json(data["metadata"]),
            "weights": weights,
            "syntax": data["syntax"] or DEFAULTS["syntax"],
            "scope": self._scope(),
        }
        filled = {
            name: value for name, value in body.items() if value not in ("", [], {})
        }
        return filled | {"query": data["query"], "project_id": str(self.project.pk)}

    def _scope(self) -> dict[str, str]:
        data = self.cleaned_data
        if not data["scope"]:
            return {}
        scope = {
            "kind": data["scope"],
            KEY_FIELDS[data["scope"]]: data["scope_key"],
            "object_type": data["object_type"],
        }
        if data["scope_user"]:
            scope["user_id"] = data["scope_user"]
        return {name: value for name, value in scope.items() if value}


def _read_json(text: str) -> Any:
    """Read JSON; return a text that is none as it is, so that the API refuses it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _split_values(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]
