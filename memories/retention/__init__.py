"""Keep fewer memories: compaction, consolidation when a quota is reached, and purge.

May import every room of `memories` but `views`, `serializers`, `admin` and `maintenance`.
"""
