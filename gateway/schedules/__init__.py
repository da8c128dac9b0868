"""What is scheduled becomes a turn when its time comes: `due` looks what is due and waits for the
next time (`alarm`), `firing` is the transaction that makes an event of it, `wording` what the model
reads.

Imports access, outbound and what agent.tools.schedule says of times. The service runs it.
"""
