"""Update to handler: what comes in is committed before its platform hears that we have it.

`router` hands each update on. `message_intake` takes messages in: `threads` says which of a group's
are for the bot, and where they are answered; `albums` are several messages of which one names it;
`newcomers` deals with people who are not known; `replies` are answers to questions in words.
`row_handler` carries out commands and `edits`, messages that were changed after they were sent.
`presses` acts on a press once `press_check` let it through; `completions` are what somebody who
types a command may choose from. Imports commands and turns; only what runs the gateway imports it.
"""
