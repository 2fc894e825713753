"""Moved: see :mod:`softvec.names`. This path works for one release."""

from softvec._moved import forward

__getattr__ = forward(__name__, "softvec.names", renamed={"Labels": "Names"})
