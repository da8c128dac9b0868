"""Update to handler: what comes in is committed before its platform hears that we have it.

`router` takes messages and commands and hands each on; `presses` acts on a press once `press_check`
let it through; `replies` are answers to questions in words; `edits` are messages that were changed
after they were sent; `albums` are several messages of which one names the bot. Imports commands and
turns; only app and service import it.
"""
