"""Views of sessions, messages, summaries and the contexts made of them."""
