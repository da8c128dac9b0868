"""Branch tables: the form they have (`model`) and how they are read (`parse`). Pure."""
