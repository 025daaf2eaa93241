"""Embedding and language-model providers, the budget of their calls, the token estimate.

The app has two tables. One stores what calls of a language model cost, and the other stores
which embedding model searches use. The app may import `jobs`, `audit`, `common`, libraries
and settings, but nothing else of this project.
"""
