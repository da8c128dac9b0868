"""Chat commands: what people type, or press, to steer the bot itself.

`context` is the one shape of them all: a plan that gives a Reply, an Act, a Job or a Move, or a
Slow step before one; `performer` carries it out, `jobs` what a session's lane is needed for.
`registry` lists what can be typed and the jobs that leaves, `on_message` what a message's own menu
has, `actions` what only `buttons` do. The plans stand in `activity` (what goes on), `memory` (what
is noted), `schedules` (what is done later), `tools` (what the agent may do), `chat`, `people`,
`tree` and `sessions`; `guidance` says what can be typed.
"""
