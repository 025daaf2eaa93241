"""Find the faults of a page in a browser with scripts, and describe them.

PICTURES=FOLDER writes each page there, at 1280 and 390 px, in light and dark.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT

STILL = (
    "*, ::before, ::after { animation: none !important; transition: none !important; }"
)
SHOWN = """const shown = e => e.checkVisibility({ visibilityProperty: true })
    && e.getBoundingClientRect().width > 1 && e.getBoundingClientRect().height > 1;
const told = e => e.outerHTML.slice(0, 160).replace(/\\s+/g, " ");"""
# Whether a fixed bar covers the element that has the focus.
COVERED = """(e => {
    const { left, top, width, height } = e.getBoundingClientRect();
    const over = document.elementFromPoint(left + width / 2, top + height / 2);
    const own = [e, ...(e.labels ?? [])];
    if (!over || own.some(one => one.contains(over) || over.contains(one))) return false;
    for (let bar = over; bar; bar = bar.parentElement)
        if (/sticky|fixed/.test(getComputedStyle(bar).position) && !bar.contains(e)) return true;
    return false;
})"""
# Open what a click would open: each part, then each dialog alone.
OPEN = "document.querySelectorAll('details').forEach(e => { e.open = true; })"
CLOSED_DIALOGS = "dialog:not([open])"
# No page is wider than the window, and no text is cut off.
MISFITS = (
    "() => {"
    + SHOWN
    + """
    const root = document.documentElement;
    const beyond = root.scrollWidth - root.clientWidth;
    const hides = e => {
        const style = getComputedStyle(e);
        return ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis";
    };
    const wide = beyond > 0 ? [`${beyond} px beyond the window`] : [];
    const clipped = [...document.body.querySelectorAll("*")].filter(
        e => (e.scrollWidth > e.clientWidth + 1 || e.matches("td, th") && e.scrollHeight > e.clientHeight + 1)
            && e.clientWidth > 1 && e.innerText?.trim() && hides(e) && shown(e));
    return [...wide, ...clipped.map(e => "clipped: " + told(e))];
}"""
)
# Each field, button and link takes the focus, is in the order of Tab, and shows it.
UNREACHABLE = (
    "where => {"
    + SHOWN
    + f"const isCovered = {COVERED};"
    + """
    const every = document.querySelector(where).querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex], [role=button]");
    const look = e => [e, ...(e.ownerSVGElement ? e.querySelectorAll("*") : [])].map(line).join();
    const line = e => {
        const s = getComputedStyle(e);
        const drawn = s.outlineStyle === "none" || s.outlineWidth === "0px" ? "" : s.outlineColor;
        const seen = /, 0\\)$|\\/ 0\\)$/.test(drawn) ? "" : drawn;
        return [seen, s.boxShadow, s.borderColor, s.color, s.backgroundColor, s.textDecorationLine, s.stroke].join();
    };
    const wrong = [];
    for (const e of every) {
        if (e.disabled || e.type === "hidden" || e.closest("[inert]") || !shown(e)) continue;
        if (e.getAttribute("tabindex") === "-1") {
            if (e.matches("a, button, input, select, textarea, summary"))
                wrong.push("out of the order of Tab: " + told(e));
            continue;
        }
        document.activeElement?.blur();
        const before = look(e);
        e.focus();
        if (document.activeElement !== e) wrong.push("takes no focus: " + told(e));
        else if (look(e) === before) wrong.push("shows no focus: " + told(e));
        if (isCovered(e)) wrong.push("lies under a bar: " + told(e));
    }
    document.activeElement?.blur();
    document.querySelectorAll("*").forEach(e => e.scrollTo(0, 0));
    return wrong;
}"""
)
AXE = """async ([rules, without]) => {
    const only = rules.length ? { runOnly: { type: "rule", values: rules } } : {};
    const where = { include: [["html"]], exclude: [without] };
    const found = await axe.run(where, { resultTypes: ["violations"], ...only });
    return found.violations
        .filter(one => ["serious", "critical"].includes(one.impact))
        .flatMap(one => one.nodes.map(node => one.id + ": " + node.html.slice(0, 200)));
}"""
# Shown one after the other: 640 x 450 is a window of 1280 x 900 at twice the size. How
# wide a text is does not depend on the scheme.
WAYS = ((1280, "light"), (1280, "dark"), (640, "dark"), (390, "dark"))
HEIGHTS = {1280: 900, 640: 450, 390: 900}
CONTRAST = ["color-contrast", "link-in-text-block"]  # all that a scheme can change
# Two frames: a chart takes its new width in the first.
DRAWN = (
    "() => new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))"
)
SIDEBAR = "#nav-sidebar"  # the same on every page


PICTURES = os.environ.get("PICTURES", "")


def look_at(watched_page, visits, ways=WAYS):
    """Check each page at these sizes and schemes, and report all faults at once."""
    wrong = []
    for number, visit in enumerate(visits):
        found = faults(watched_page, visit, ways, with_sidebar=number == 0)
        wrong += [f"{visit.name} {words}" for words in found]
    assert not wrong, "\n".join(wrong)


def faults(watched_page, visit, ways, *, with_sidebar):
    watched_page.complaints.clear()
    watched_page.strangers.clear()
    page = watched_page.page
    page.set_viewport_size({"width": 1280, "height": HEIGHTS[1280]})
    answer = page.goto(watched_page.server + visit.path)
    page.wait_for_selector("html:not([x-cloak])")
    page.add_style_tag(content=STILL)
    page.evaluate(AXE_SCRIPT)
    wrong = [] if answer.status == visit.status else [f"answers {answer.status}"]
    wrong += ["its text was run"] if page.title() == "taken" else []
    if PICTURES:
        take_pictures(page, visit)
    page.evaluate(OPEN)
    for width, scheme in ways:
        show(page, width, scheme)
        without = "#none" if with_sidebar else SIDEBAR
        faults_here = dict.fromkeys(faults_at(page, width, scheme, without))
        wrong += [f"{width} {scheme}: {words}" for words in faults_here]
    wrong += faults_of_dialogs(page)
    # Chromium logs an error for a page that is rightly refused.
    refused = answer.url if visit.status == answer.status >= 400 else "\0"
    wrong += [
        words for words in watched_page.complaints if not words.endswith(f" {refused}")
    ]
    return wrong + watched_page.strangers


def faults_at(page, width, scheme, without):
    faults_here = [] if (width, scheme) == (1280, "dark") else page.evaluate(MISFITS)
    if width == 1280:
        rules = CONTRAST if scheme == "dark" else []
        faults_here += page.evaluate(AXE, [rules, [without]])
    if width == 640:
        faults_here += page.evaluate(UNREACHABLE, "html")
    return faults_here


def faults_of_dialogs(page):
    faults_here = []
    for dialog in page.query_selector_all(CLOSED_DIALOGS):
        dialog.evaluate("e => e.showModal()")
        found = page.evaluate(MISFITS) + page.evaluate(UNREACHABLE, "dialog[open]")
        faults_here += [f"dialog: {words}" for words in found]
        dialog.evaluate("e => e.close()")
    return faults_here


def take_pictures(page, visit):
    Path(PICTURES).mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", visit.name.removeprefix("admin:"))
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            show(page, width, scheme)
            page.screenshot(path=Path(PICTURES) / f"{name}.{width}.{scheme}.png")


def show(page, width, scheme):
    if page.viewport_size["width"] != width:
        page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        page.evaluate(DRAWN)
    page.evaluate(
        "dark => document.documentElement.classList.toggle('dark', dark)",
        scheme == "dark",
    )
