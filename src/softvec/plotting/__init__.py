"""Plots: a map of the vectors, the loss, histograms, epidemics. matplotlib is imported on first use.

Each function draws on ``ax`` (a new figure by default) and returns it. Nine of the colours are Petroff's,
which are safe for colour-blind readers; the tenth is near-black. The largest groups are coloured, the others
grey; values have a colour bar.
"""

from softvec.plotting.colours import labels_in_file
from softvec.plotting.curves import plot_epidemic, plot_loss, plot_similarities
from softvec.plotting.map import largest, plot_map
from softvec.plotting.style import plain_text, save

__all__ = [
    "labels_in_file",
    "largest",
    "plain_text",
    "plot_epidemic",
    "plot_loss",
    "plot_map",
    "plot_similarities",
    "save",
]
