"""An interactive map of an embedding in one HTML file, and exports to Gephi, Cytoscape and embedding-atlas.

The page holds everything: style, script (``*.js`` of this folder, concatenated) and data (see
:mod:`softvec.map.page`). It makes no network requests, and its content security policy allows only its
own script and style.
"""

from softvec.map.content import Content
from softvec.map.handoff import annotate
from softvec.map.map import Map, make_map

__all__ = ["Content", "Map", "annotate", "make_map"]
