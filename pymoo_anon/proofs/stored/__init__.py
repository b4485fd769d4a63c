"""Proofs over lattices whose nodes are all kept in memory."""
