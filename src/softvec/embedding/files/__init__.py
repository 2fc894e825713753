"""Vector files: one module for each family of formats; ``formats`` reads and writes them all."""
