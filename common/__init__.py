"""What knows no app: ids, errors, callers, parsing, pagination, text.

May import Django and libraries, nothing of this project.
"""
