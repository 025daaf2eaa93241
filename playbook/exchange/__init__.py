"""Export and import a playbook.

The formats are ACE lines, JSON with history, and a managed block.

May import every package of `playbook` but `serializers`, `views` and `admin`.
"""
