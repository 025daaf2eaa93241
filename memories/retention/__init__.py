"""Keep fewer memories: compaction, pruning, and purge.

The package may import every package of `memories` but `views`, `serializers`, `admin` and
`maintenance`.
"""
