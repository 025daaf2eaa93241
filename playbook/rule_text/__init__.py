"""The text of a rule, judged and combined without the database: patterns, gates, merged texts.

Pure functions. May import `common`.
"""
