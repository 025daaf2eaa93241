"""Export and import a playbook.

The formats are ACE lines, JSON with history, a managed block, and `SKILL.md` files.

May import every package of `playbook` but `serializers`, `views` and `admin`.
"""
