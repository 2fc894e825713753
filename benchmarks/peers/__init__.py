"""softvec beside its rivals: time, memory and score on the same graphs, in one run."""
