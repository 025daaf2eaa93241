"""Input and output of the REST API, with one file for each noun.

No serializer writes to the database. The package may import the models and what
`memories.store`, `memories.read` and `memories.retention` return.
"""
