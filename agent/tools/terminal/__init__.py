"""Commands and programs that agents run.

`tools` is what models call; `terminal` knows what runs now, for one process, and `commands` is what
it knows of each; `elsewhere` is what other processes run; `shell` is what an agent's last command
left to the next; `sandbox` runs one command, confined. Imports agent.tools.base, agent.tools.files
and what is below agent.tools.
"""
