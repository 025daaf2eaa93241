"""Input and output of the REST API, a file for each noun; no serializer writes.

May import the models and what `memories.store`, `memories.read` and `memories.retention` return.
"""
