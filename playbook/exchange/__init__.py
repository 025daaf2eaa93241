"""Export and import a playbook.

The formats are ACE lines, a managed block, `SKILL.md` files (export only), and lists in Markdown
(import only).

May import every package of `playbook` but `serializers`, `views` and `admin`.
"""
