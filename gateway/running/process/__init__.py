"""The life of a process (`lifecycle`), and what is before and after it (`leaving`): how it comes to
its end (`draining`), takes another configuration over (`reloading`), and tells a service manager of
all that (`systemd`).
"""
