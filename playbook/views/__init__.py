"""REST views of the playbook.

A view parses the request, calls one function and answers.

May import everything in `playbook` but `admin`.
"""
