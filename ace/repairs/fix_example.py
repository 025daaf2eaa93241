"""Examples of the route `context` with the part `fix` for the documentation of the API."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

REQUEST = OpenApiExample(
    "A flag that the program does not know",
    value={
        "project": "billing",
        "parts": ["fix"],
        "failed": {
            "tool": "Bash",
            "arguments": {"command": "go test -tag=it ./ledger"},
            "error": "flag provided but not defined: -tag\nusage: go test [build flags]",
            "cwd": "/home/ana/billing",
        },
        "agent_id": "coder",
    },
    request_only=True,
)
ANSWER = OpenApiExample(
    "What worked in two earlier sessions",
    value={
        "fix": {
            "text": 'Run "go test -tags=it ./ledger" instead of "go test -tag=it ./ledger": it '
            'worked after "shell go: flag provided but not defined: -tag" (3 times in 2 sessions, '
            "last on 2026-11-20; run 0198f3a2-6c1e-7d3b-9a54-2f1b6c7d8e90).",
            "kind": "shell",
            "signature": "shell go: flag provided but not defined: -tag",
            "failed": "go test -tag=it ./ledger",
            "worked": "go test -tags=it ./ledger",
            "times": 3,
            "sessions": 2,
            "share": 1.0,
            "last_seen_at": "2026-11-20T09:14:03Z",
            "run_id": "0198f3a2-6c1e-7d3b-9a54-2f1b6c7d8e90",
            "is_own": True,
            "entry_id": None,
            "entry_label": None,
        }
    },
    response_only=True,
)
