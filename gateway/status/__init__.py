"""Signs of life while a turn runs: typing, progress, the live panel of /agents.

Best effort: a failure costs nobody an answer, and nothing is stored but what the panel's buttons
do (`child_control`). All of it, and the acknowledgements of presses, go out by `notices`. Imports
outbound, questions and views; turns, commands and inbound import it.
"""
