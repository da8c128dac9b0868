"""Update to handler: what comes in is committed before its platform hears that we have it.

`router` takes messages, presses and commands and hands each on; `edits` are messages that were
changed after they were sent. Imports commands and turns; only app and service import it.
"""
