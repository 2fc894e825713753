"""Benchmarks: each script writes JSON with the machine, the commit and the versions beside its numbers."""
