"""Pure helpers on the tree: paths, strands and branches, lineage, entries planted in bulk."""
