"""Search messages and summaries, in one session or in all that the caller may see."""
