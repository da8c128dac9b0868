"""Signs of life while a turn runs: typing, progress, the live panel of /agents.

Best effort: a failure costs nobody an answer, and nothing is stored but what the panel's buttons
do (`child_control`). Turns and commands import it.
"""
