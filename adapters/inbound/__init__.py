"""What platforms share in taking updates in: `ordering` says which wait for which."""
