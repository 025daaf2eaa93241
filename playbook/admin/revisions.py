"""Two revisions of a playbook compared, and one read again, on admin pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from common import panels
from common.pages import ProjectPageForm
from common.panels import IN_PANEL, Panel, link, words
from playbook import comparing, reading
from playbook.admin.shown import ENTRY
from playbook.comparing import Difference, Part
from playbook.reading import Filters, Order, Past
from projects import finding

# Entries shown on a page; a playbook of 40,000 tokens has about 800.
MOST = 1_000
LARGEST = 2**31 - 1
TAGS = {"same": "span", "removed": "del", "added": "ins"}


def revision(label: str, **more: Any) -> forms.IntegerField:
    widget = UnfoldAdminTextInputWidget({"inputmode": "numeric"})
    return forms.IntegerField(
        label=label, min_value=0, max_value=LARGEST, widget=widget, **more
    )


@dataclass(frozen=True)
class Compared:
    first: int
    last: int
    found: Sequence[Difference]


class CompareForm(ProjectPageForm):
    first = revision("From revision")
    last = revision(
        "To revision", required=False, help_text="Empty: as the playbook is now."
    )

    def apply(self) -> Compared:
        data = self.cleaned_data
        project = finding.project(data["project"], self.caller)
        last, found = comparing.revisions(
            project, data["first"], data["last"], self.caller
        )
        return Compared(data["first"], last, found)


def differences(request: HttpRequest, compared: Compared) -> Iterable[Panel]:
    counts = Counter(one.kind for one in compared.found)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    yield panels.table(
        f"From revision {compared.first} to {compared.last}"
        + (f": {told}" if told else ""),
        ["Entry", "", "Text", "Other columns"],
        (
            [
                link(ENTRY, one.entry_id, one.entry_label, panels.SHORT),
                one.kind,
                rewording(one.words) if "content" in one.columns else "",
                others(one),
            ]
            for one in compared.found[: MOST + 1]
        ),
        empty="Nothing differs.",
        most=MOST,
    )


def rewording(parts: Iterable[Part]) -> SafeString:
    """A text with what left it struck through and what came into it underlined."""
    # The names of tags are of this module's own, the texts are escaped.
    shown = (
        (SafeString(TAGS[part.kind]), part.text, SafeString(TAGS[part.kind]))
        for part in parts
    )
    return format_html(
        '<pre class="am-block" dir="auto">{}</pre>',
        format_html_join("", "<{}>{}</{}>", shown),
    )


def others(one: Difference) -> SafeString:
    columns = {name: pair for name, pair in one.columns.items() if name != "content"}
    if not columns or one.kind == "added":
        return SafeString("")
    before = {name: pair[0] for name, pair in columns.items()}
    after = {name: pair[1] for name, pair in columns.items()}
    return panels.difference(before, after)


class PastForm(ProjectPageForm):
    revision = revision("Revision")

    def apply(self) -> list[Past]:
        data = self.cleaned_data
        project = finding.project(data["project"], self.caller)
        order = Order("label", is_descending=False)
        return reading.at_revision(
            project, data["revision"], Filters(), order, self.caller
        )


def entries(request: HttpRequest, past: Sequence[Past]) -> Iterable[Panel]:
    yield panels.table(
        f"{len(past):,} entries",
        ["Entry", "Category", "Rule", "Helpful / harmful / neutral"],
        (
            [
                link(ENTRY, one.id, one.state["label"], panels.SHORT),
                words(one.state["category"], 40),
                words(one.state["content"], IN_PANEL),
                " / ".join(
                    str(one.state[name]) for name in ("helpful", "harmful", "neutral")
                ),
            ]
            for one in past[: MOST + 1]
        ),
        empty="The playbook was empty.",
        most=MOST,
    )
