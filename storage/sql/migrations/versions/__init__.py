"""Each step from one form of the database to the next. None is changed once it was released."""
