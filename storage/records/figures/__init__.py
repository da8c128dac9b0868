"""What is told of a store to who watches over it, in numbers.

`happened` is what commits did, one by one, to be counted; `backlog` is what waits in the database
at one moment. Neither holds what people wrote, nor who they are: only kinds, platforms and counts.
"""
