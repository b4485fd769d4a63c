"""The report of a release, as one HTML file without network access."""
