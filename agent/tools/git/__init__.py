"""git_status, git_diff and git_log: look at a repository of the workspace, and change nothing.

A repository is a stranger's: git would run what its configuration names, and follow it out of the
folder. So git is not run. `repository` reads it with dulwich's parsers and through the Workspace,
in the process of `child`, which `serving` bounds in time and memory, and keeps from running,
writing or sending anything. `tools` is what models call.

Imports agent.tools.files and what is below agent.tools.
"""
