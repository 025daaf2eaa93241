"""Lessons: the one shape that everybody who teaches uses, and the one way in."""
