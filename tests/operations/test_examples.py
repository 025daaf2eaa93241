"""The shell examples of the manual, run as pasted against a live server."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from django.conf import settings

from access import keys
from common.caller import Role
from context.headings import ACCEPTED, UNREVIEWED

pytestmark = [
    pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed"),
    pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed"),
]

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROBLEM = re.compile(r'"status": [45]\d\d,')
HERE = "http://127.0.0.1:8000"
KEY = "am_..."
TAUGHT = "Always show the currency beside a price."


def examples(page):
    return "\n".join(BLOCK.findall((settings.BASE_DIR / page).read_text()))


@pytest.mark.parametrize("page", ["README.md", "docs/api.md"])
def test_each_works_as_pasted(page, live_server, settings):
    settings.EMBEDDING_PROVIDER = "minilm"
    key = keys.issue(name="first key", role=Role.OWNER, may_attest=True)
    script = examples(page).replace(HERE, live_server.url).replace(KEY, key.secret)

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}"
    assert not PROBLEM.search(done.stdout)
    if page == "README.md":
        assert '"relevant": true' in done.stdout
        assert '"leaf_summaries_created": 1' in done.stdout
        lines = [line for line in done.stdout.splitlines() if ACCEPTED[1:] in line]
        text = next(line for line in lines if '"text": ' in line)
        assert TAUGHT in text
        assert text.index(ACCEPTED[1:]) < text.index(TAUGHT)
        assert UNREVIEWED not in text[: text.index(TAUGHT)]
