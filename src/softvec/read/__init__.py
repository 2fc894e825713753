"""From files, tables and objects of other libraries to edges, matrices, text and labels."""
