"""What a model may call: the seam (`base`) and the tools that need nothing of delegation.

A toolset that is more than one module is a package. Imports agent.settings, agent.text and what is
below; never the runtime, which runs tools.
"""
