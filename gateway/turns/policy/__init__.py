"""Whether and how what came in is answered: `busy_policy` says what talk does during a turn,
`limits` how deep a session may get, `late` what is said of what waited for hours.
"""
