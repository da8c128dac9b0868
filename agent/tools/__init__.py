"""What a model may call: the seam (`base`) and the tools that need nothing of delegation.

Files are reached through `workspace`, a folder that nothing gets out of.
"""
