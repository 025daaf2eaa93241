"""The browser of the tour: it opens pages, checks texts and takes pictures."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import urlencode

from django.urls import reverse

from tests.browser.page_faults import PICTURES, STILL


class Walk:
    def __init__(self, watched_page, project):
        self.watched = watched_page
        self.page = watched_page.page
        self.project = project
        self.keys = watched_page.page.keyboard

    def go(self, name, *args, **asked):
        asked = {"project": self.project.pk} | asked
        self.watched.open(f"{reverse(name, args=args)}?{urlencode(asked)}")

    def sees(self, *texts):
        content = self.page.locator("#content")
        for text in texts:
            content.get_by_text(text).locator("visible=true").first.wait_for()

    def wait_for_text(self, words):
        self.page.wait_for_selector(f"#inbox-said:has-text({json.dumps(words)})")

    def take_picture(self, name):
        if not PICTURES:
            return
        self.page.add_style_tag(content=STILL)
        session = self.page.context.new_cdp_session(self.page)
        shot = {"format": "webp", "quality": 82}
        data = session.send("Page.captureScreenshot", shot)["data"]
        folder = Path(PICTURES)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.webp").write_bytes(base64.b64decode(data))
