"""Moved: see :mod:`softvec.fit`. This path works for one release."""

from softvec._moved import forward

__getattr__ = forward(__name__, "softvec.fit")
