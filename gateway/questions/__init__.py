"""Questions to people: asked, posted with buttons, decided by a press, climbed, expired.

`service` is what becomes of a question, `kinds` what differs from one kind to the next. Presses are
checked in inbound before they come here. Imports outbound and access; turns and commands import it.
"""
