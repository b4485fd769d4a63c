"""The report of a release: one HTML file that needs no network, for the people who decide and for those outside."""
