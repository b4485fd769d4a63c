"""Seconds, nodes and memory: the engine, the proofs, files of any size."""
