"""Branch tables: their form (`model`), as models are asked for them (`schema`) and as they are read
(`parse`). Pure."""
