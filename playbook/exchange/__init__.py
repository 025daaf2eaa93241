"""Export and import a playbook: ACE lines, JSON with history, a managed block.

May import every room of `playbook` but `serializers`, `views` and `admin`.
"""
