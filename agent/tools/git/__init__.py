"""git_status, git_diff and git_log: look at a repository of the workspace, and change nothing.

A repository is a stranger's. git itself runs programs that a repository names (fsmonitor,
diff.external, textconv, filters, hooks), follows alternates, links and `.git` files out of the
folder, and an option of `git log` writes files. So git is not run. dulwich's parsers read what
`repository` opens, always through the Workspace: no link is followed, no configuration, attribute,
hook, alternate or replace ref is read, and nothing is fetched. That happens in a process of its own
(`child`), with an empty environment, in bounds of time and memory (`serving`), which may start no
program and write no file. `tools` is what models call.

Imports agent.tools.files and what is below agent.tools.
"""
