"""What tools keep: for each, its types and the protocol of the repository that keeps them. Nothing
here imports another record of tools."""
