"""Keep fewer memories: compaction, consolidation when a quota is reached, and purge.

The package may import every package of `memories` but `views`, `serializers`, `admin` and
`maintenance`.
"""
