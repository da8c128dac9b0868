"""Full-text search: what is looked for (`query`) and what keeps its index close behind (`indexer`);
for few texts, without an index, `ranking`."""
