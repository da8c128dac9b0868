"""Who may do what: talk, decide, interrupt (`roles`), see which session (`visibility`).

`denials` are what people are told who may not. Asked at every message and every press. Imports the
configuration only.
"""
