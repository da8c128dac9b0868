"""Carrying out a delegation: from the call of the tool to the parent's result.

`tool` is delegate_task, whose arguments `call` reads. `runner` carries out the steps that `core`
says: `children` run agents, and `escalation` asks people in the words of `question_text`.
`settlement` ends it, `result` is what the parent reads of it, and `pending_calls` finds the call
that waits for it. `tables` are branch tables, `handoff` is what a parent hands over.
"""
