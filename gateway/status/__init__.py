"""Signs of life while a turn runs: typing, progress, the live panel of /agents.

Best effort: nothing here is stored, and a failure costs nobody an answer. Turns and commands
import it.
"""
