"""The paper's experiments: one directory each, with a script, a configuration, results and a figure."""
