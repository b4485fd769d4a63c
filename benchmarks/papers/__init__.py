"""The tables, figures and claims of the four papers, and results of other tools."""
