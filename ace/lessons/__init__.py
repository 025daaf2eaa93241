"""Lessons: what rules and a language model learn from runs and sessions."""
