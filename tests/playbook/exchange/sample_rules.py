from __future__ import annotations

URL = "/api/v1/playbook"
RULES = [
    "Always call `show_api_doc` before an API, with at most 20 results.",
    "Never hardcode dates such as 2023; use `datetime.now()` instead.",
    "When paging, stop after an empty page; `page_limit` is 20.",
    "Use `access_token` of `login` for every call of the venmo API.",
    "Check `status` of the file before you rename it to `done.txt`.",
    "Round amounts to 2 places, and compare them as Decimal.",
    "Read `/etc/app.conf` once, then keep it for 300 seconds.",
    "Prefer `find_all` to a loop over `find`, which costs 1 call each.",
]
