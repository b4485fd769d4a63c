"""Problems: search spaces of generalizations of a table."""
