"""Sketches: small summaries of many values, as bytes that Spark and Apache DataSketches read.

    murmur     the hash of values that sketches go by
    theta      the least hashes: how many distinct values there are, and of which sets
    tuples     the same, with a number beside every hash
    kll        quantiles of numbers
    hll        how many distinct values there are, by the library `datasketches`
    frequent   the most frequent values;  count_min: how often each is there

A sketch of an aggregate is a function of the values of its group, whatever the order in which they
have come. Where Spark's would depend on that order, or on chance, it is another one of the same
size and accuracy.
"""

from driftline.engine.expressions.sketches import count_min, frequent, hll, kll, theta, tuples

__all__ = ["count_min", "frequent", "hll", "kll", "theta", "tuples"]
