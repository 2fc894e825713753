"""Damaged files for every reader: seeds, mutations, a driver of child processes, a coverage-guided mode."""
