"""The playbook as it was at any revision, what changed since, and the way back."""
