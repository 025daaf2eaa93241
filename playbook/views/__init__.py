"""REST views of the playbook: parse the request, call one function, answer.

May import everything in `playbook` but `admin`.
"""
