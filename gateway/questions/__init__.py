"""Questions to people: asked, posted with buttons, decided by a press, climbed, expired.

`service` is where a decision's press is checked; `child_control` are buttons that stop and pause
children. Imports outbound and access; turns and commands import it.
"""
