"""Commands about the tree of one session, most of them in a module of their name.

`tree` and `branches` draw it, `navigation` moves in it, `labels` names its places, `diff` compares
two of them; `retry` and `fan` answer again, and `siblings` are the arrows under an answer;
`compact` and `branch_summary` shorten. `leaf_moves` plans a move and what is told on arrival.
"""
