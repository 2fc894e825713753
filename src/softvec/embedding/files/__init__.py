"""Files of named vectors: one module for each family of formats, one door in ``formats``."""
