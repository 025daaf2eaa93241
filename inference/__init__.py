"""Embedding and language-model providers, the budget of their calls, the token estimate.

Two tables: what calls of a language model cost, and which embedding model searches use.
May import `jobs`, `audit`, `common`, libraries and settings, nothing else of this project.
"""
