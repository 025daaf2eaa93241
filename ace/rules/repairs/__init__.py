"""Pair failed tool calls with the calls that fixed them, and phrase the difference.

May import `ace.rules.files`, `tool_calls`, `task`, `error_patterns` and
`error_signature`.
"""
