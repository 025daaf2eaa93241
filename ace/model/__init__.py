"""A language model as reflector and curator, beside the rules and behind the same gates.

It may say what a task teaches and what a lesson is to the playbook. Outcomes, votes,
counters, ids, versions and merged texts are made by code.
"""
