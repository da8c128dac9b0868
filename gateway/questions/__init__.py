"""Questions to people: asked, posted, decided by a press or in words, climbed, expired.

`service` is what becomes of a question, `copies` what people see of it, `deciders` who may
decide it, `outcome` how its end is
told, `kinds` what differs from one kind to the next. Presses and replies are checked in inbound
before they come here. Imports outbound and access; turns and commands import it.
"""
