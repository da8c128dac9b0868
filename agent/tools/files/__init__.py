"""The files of a session: reached through `workspace`, a folder that nothing gets out of.

`tools` and `writing` are what models call, `search` with its process what search_files does,
`editing` what edit_file does to a text, under the lock of `locking`; `copying` takes files to
another workspace. Imports agent.tools.base and what is below agent.tools.
"""
