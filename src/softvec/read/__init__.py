"""Read files, tables and objects of other libraries into edges, matrices, text and labels."""
