"""Mark duplicates among stored memories.

A duplicate is marked by a verdict, by a person's decision or by a scan job. The package may
import `memories.store` and what is below `memories.store`.
"""
