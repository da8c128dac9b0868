"""Commands about the tree of one session: move in it, branch, compare, summarise, retry, draw.

`leaf_moves` plans a move and what is told on arrival; `siblings` are the arrows under an answer.
"""
