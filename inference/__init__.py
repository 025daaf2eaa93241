"""Embedding and language-model providers behind two small classes; the token estimate.

No tables. May import `common`, libraries and settings, nothing else of this project.
"""
