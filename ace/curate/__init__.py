"""Turn a stored reflection into playbook proposals and votes.

A language model may choose the operation for each lesson. This package may import
`ace.reflect` and everything that `ace.reflect` may import.
"""
