"""The agents that a delegation runs, each on a session of its own.

`child_runner` runs whoever is next. `roles` are the runs of worker and overseer, `judging` that of
the judge, `prompts` what they are told. A `child` is one run; `supervision` watches, pauses and
stops it, on one of the `slots` that there are; `presence` shows it to other processes; `last_call`,
`former` and `transcript` keep what a worker found when it ends. Points to core, tables and handoff.
"""
