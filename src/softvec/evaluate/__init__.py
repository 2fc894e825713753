"""Evaluation of vectors, one module per task."""

from softvec.evaluate.classification import C_GRID, node_classification
from softvec.evaluate.common import Scores
from softvec.evaluate.communities import communities, modularity, partition_scores
from softvec.evaluate.epidemic_prediction import Curve, EpidemicPrediction, predict_epidemic
from softvec.evaluate.links import LinkSplit, link_prediction, score_links, split_edges
from softvec.evaluate.signs import sign_prediction
from softvec.evaluate.words import word_analogy, word_similarity

__all__ = [
    "C_GRID",
    "Curve",
    "EpidemicPrediction",
    "LinkSplit",
    "Scores",
    "communities",
    "link_prediction",
    "modularity",
    "node_classification",
    "partition_scores",
    "predict_epidemic",
    "score_links",
    "sign_prediction",
    "split_edges",
    "word_analogy",
    "word_similarity",
]
