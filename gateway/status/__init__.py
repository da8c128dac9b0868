"""Signs of life while a turn runs: typing, progress, the live panel of /agents.

Best effort: nothing here is stored, and a failure costs nobody an answer. All of it, and the
acknowledgements of presses, go out by `notices`. Imports outbound, questions and views; turns,
commands and inbound import it.
"""
