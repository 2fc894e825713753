"""What vectors are good for, measured: one file per task."""

from softvec.tasks._common import Scores
from softvec.tasks.classification import C_GRID, ClassificationScores, node_classification
from softvec.tasks.communities import communities, find_communities, partition_scores
from softvec.tasks.epidemics import Reconstruction, infected_states, reconstruct_epidemic
from softvec.tasks.links import LinkSplit, link_prediction, score_links, split_edges
from softvec.tasks.pairs import pair_classification, pair_cosines, pair_features
from softvec.tasks.preservation import neighbor_preservation, triplet_preservation
from softvec.tasks.spectral import SpectralCommunities, bethe_hessian_vectors, spectral_communities
from softvec.tasks.temporal_distance import matched_distance, temporal_walks, unmatched_distance
from softvec.tasks.words import word_analogy, word_similarity

__all__ = [
    "C_GRID",
    "ClassificationScores",
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
    "neighbor_preservation",
    "node_classification",
    "pair_classification",
    "pair_cosines",
    "pair_features",
    "partition_scores",
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
