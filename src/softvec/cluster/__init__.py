"""One fit on several workers: the same vectors, bit for bit, as on one machine."""
