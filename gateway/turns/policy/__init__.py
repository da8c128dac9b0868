"""Whether and how what came in is answered: `due_turns` begins the turn that is due, `busy_policy`
says what talk does during a turn, `interruptions` does it where another process took the talk in,
`limits` how deep a session may get, `late` what is said of what waited for hours, `unasked` which
turns begin by themselves, and when they stop.
"""
