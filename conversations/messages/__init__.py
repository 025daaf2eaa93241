"""Append, read, hide and redact the messages of a session."""
