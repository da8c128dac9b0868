"""Carrying out a delegation: children, overseers, the judge, people, and the parent's result.

`tool` is delegate_task, `offer` what models are shown of it, `arguments` what they may write,
`planner` and `child_models` check it within the limits of a `caller`. `runner` carries out the
steps that `core` says, `roles` are the runs of worker and overseer, `judging` that of the judge;
`former` and `last_call` keep what a worker found when it ends, `escalation` asks people,
`settlement` ends it.
"""
