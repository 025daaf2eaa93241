"""The page docs/curating.md describes the steps that tests/browser/test_tour.py walks."""

from __future__ import annotations

import re

from tests.browser.tour import FOLDER, PAGE, STEPS

MOST_BYTES = 120_000


def test_the_page_tells_each_step_with_its_picture():
    told = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    found = [
        (
            part.partition("\n")[0],
            "".join(re.findall(r"!\[[^\]]+\]\(images/curating/(\w+)\.webp\)", part)),
        )
        for part in told
    ]

    assert found == [(heading, picture) for heading, picture, *_ in STEPS]


def test_each_picture_is_there_and_is_light():
    pictures = {path.stem: path.stat().st_size for path in FOLDER.iterdir()}

    assert set(pictures) == {picture for _, picture, *_ in STEPS if picture}
    assert max(pictures.values()) <= MOST_BYTES
