"""Doors of the playbook, a file for each noun: parse, call one function, answer."""
