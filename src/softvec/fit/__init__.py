"""Algorithm 1 of the paper, with its options and extensions."""
