"""Texts become vectors: the providers, the active model, and the change to another one.

A provider is one file with one `Embedder`, named in the table of `embedder`.
May import the modules of `inference`, `jobs`, `audit` and `common`, not `inference.language`.
"""
