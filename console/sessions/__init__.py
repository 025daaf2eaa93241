"""The pages of sessions: their list, and the transcript, summaries and context of one.

This package may import `conversations` and the console's own top-level modules.
"""
