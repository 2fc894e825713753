"""An interactive map of an embedding in one HTML file, and hand-offs to Gephi, Cytoscape and embedding-atlas.

The page holds everything: style, script (``*.js`` of this folder, concatenated) and data (see
:mod:`softvec.map.pack`). It asks nothing of the network, and its content security policy lets nothing but
its own script and style run.
"""

from softvec.map.content import Content
from softvec.map.handoff import annotate
from softvec.map.map import Map, make_map

__all__ = ["Content", "Map", "annotate", "make_map"]
