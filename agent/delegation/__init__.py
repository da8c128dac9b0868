"""Carrying out a delegation: children, overseers, the judge, people, and the parent's result.

`tool` is delegate_task, `planner` reads its arguments, `runner` carries out the steps that `core`
says, `roles` are the runs of worker and overseer, `judging` that of the judge, `escalation` asks
people, `settlement` ends it.
"""
