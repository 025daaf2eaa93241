"""Keep less: compaction, its summaries and schedule, consolidation at a quota, purge, and the

end of a project.
May import `memories.lifecycle`, `memories.duplicates` and everything below them.
"""
