"""Replace old messages of a session's context by summaries; no message is lost."""
