"""Who may do what: talk, decide, interrupt (`roles`), and see which session (`visibility`).

Asked at every message and every press. Imports the configuration only.
"""
