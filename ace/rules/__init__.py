"""Rules that read a finished task: plain text in, frozen values out, no database.

May import `memories.classification` and `common`, and nothing else of the project.
"""
