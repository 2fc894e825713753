"""Evaluation of vectors, one module per task."""

from softvec.evaluate.classification import C_GRID, ClassificationScores, node_classification
from softvec.evaluate.common import Scores
from softvec.evaluate.communities import communities, find_communities, modularity, partition_scores
from softvec.evaluate.epidemic_prediction import Curve, EpidemicPrediction, predict_epidemic
from softvec.evaluate.epidemics import Reconstruction, infected_states, reconstruct_epidemic
from softvec.evaluate.links import LinkSplit, link_prediction, score_links, split_edges
from softvec.evaluate.pairs import pair_classification, pair_cosines, pair_features
from softvec.evaluate.preservation import neighbor_preservation, triplet_preservation
from softvec.evaluate.spectral import SpectralCommunities, bethe_hessian_vectors, spectral_communities
from softvec.evaluate.temporal_distance import matched_distance, temporal_walks, unmatched_distance
from softvec.evaluate.words import word_analogy, word_similarity

__all__ = [
    "C_GRID",
    "ClassificationScores",
    "Curve",
    "EpidemicPrediction",
    "LinkSplit",
    "Reconstruction",
    "Scores",
    "SpectralCommunities",
    "bethe_hessian_vectors",
    "communities",
    "find_communities",
    "infected_states",
    "link_prediction",
    "matched_distance",
    "modularity",
    "neighbor_preservation",
    "node_classification",
    "pair_classification",
    "pair_cosines",
    "pair_features",
    "partition_scores",
    "predict_epidemic",
    "reconstruct_epidemic",
    "score_links",
    "spectral_communities",
    "split_edges",
    "temporal_walks",
    "triplet_preservation",
    "unmatched_distance",
    "word_analogy",
    "word_similarity",
]
