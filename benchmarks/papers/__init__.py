"""The four papers, rerun: their tables, figures and claims; and what other tools find."""
