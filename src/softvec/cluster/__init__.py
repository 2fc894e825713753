"""A fit on several workers, with bit-for-bit the vectors of a single process."""
