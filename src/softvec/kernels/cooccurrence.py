"""Count word co-occurrences row by row, without hashing or sorting pairs.

Tokens are word numbers, -1 between documents. The positions of each word are listed by a counting sort;
then each row of the result is summed in a dense accumulator over the words around those positions. Rows are
independent, so threads can share them without changing the sums.
"""

from __future__ import annotations

from softvec.kernels._jit import njit


@njit(nogil=True, cache=True)
def places(tokens, starts, out):
    """List the positions of each word, in order; ``starts`` (words + 1) receives the start of each list."""
    for k in range(tokens.shape[0]):
        if tokens[k] >= 0:
            starts[tokens[k] + 1] += 1
    for word in range(starts.shape[0] - 1):
        starts[word + 1] += starts[word]
    cursor = starts[:-1].copy()
    for k in range(tokens.shape[0]):
        if tokens[k] >= 0:
            out[cursor[tokens[k]]] = k
            cursor[tokens[k]] += 1


@njit(nogil=True, cache=True)
def count_rows(tokens, starts, places, weights, own, lo, hi, sums, indices, values, lengths):
    """Count the words around each of the words lo..hi-1; ``weights[s]`` is the weight at distance s + 1.

    ``own`` says whether a word counts near itself. ``sums`` (words, zero) is the accumulator and is zero
    again afterwards. Returns the entries written.
    """
    window = weights.shape[0]
    size = tokens.shape[0]
    total = 0
    for word in range(lo, hi):
        begin = total
        for k in range(starts[word], starts[word + 1]):
            p = places[k]
            for way in (-1, 1):
                for s in range(min(window, p if way < 0 else size - 1 - p)):
                    other = tokens[p + way * (s + 1)]
                    if other < 0:
                        break
                    if other == word and not own:
                        continue
                    if sums[other] == 0:
                        indices[total] = other
                        total += 1
                    sums[other] += weights[s]
        if (total - begin) * 16 > sums.shape[0]:
            total = begin  # scanning all words is faster than sorting most of them
            for other in range(sums.shape[0]):
                if sums[other] != 0:
                    indices[total] = other
                    total += 1
        else:
            indices[begin:total].sort()
        for k in range(begin, total):
            values[k] = sums[indices[k]]
            sums[indices[k]] = 0
        lengths[word - lo] = total - begin
    return total
