"""Commands about the tree of one session: move in it, branch, compare, summarise, retry, draw.

`leaf_moves` is the shape of all that move the leaf; `siblings` are the arrows under an answer.
"""
