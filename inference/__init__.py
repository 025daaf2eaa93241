"""Embedding and language-model providers behind two small classes; the token estimate.

One table, of what calls of a language model cost. May import `common`, libraries and settings, nothing else of this project.
"""
