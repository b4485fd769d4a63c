"""Drafts: hierarchies made from the values of a column, one module for each kind of values, to be edited."""
