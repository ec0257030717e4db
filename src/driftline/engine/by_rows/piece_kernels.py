"""Kernels over pieces: for each piece, the members alive in it are members[offsets[p]] … ; every
member has a key that stands for its value in order (see `order_keys`) and a vs.

A sum that is rounded once, and quotients of such sums, are here, too: what two floats cannot decide
is said to be in doubt.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.exact_floats import two_product, two_sum
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Floats, Int64s, Mask

_SMALL = 24
"""Up to this size a piece is sorted by insertion."""
GREATEST_ADDED, _LEAST_QUOTIENT = 2.0**960, 1e-290
_LEAST_VARIANCE = 1e-250
DOUBT = 2.0**-35
"""How wrong the low part of a result may be, relatively."""


@compiled
def present(offsets: Int64s, members: Int64s, valid: Mask) -> tuple[Int64s, Int64s]:
    """The pieces without the members whose value is null."""
    kept, kept_offsets = np.empty(len(members), np.int64), np.zeros(len(offsets), np.int64)
    count = 0
    for piece in range(len(offsets) - 1):
        for place in range(offsets[piece], offsets[piece + 1]):
            if valid[members[place]]:
                kept[count] = members[place]
                count += 1
        kept_offsets[piece + 1] = count
    return kept_offsets, kept[:count].copy()


@compiled
def _sort(members: Int64s, keys: Int64s) -> None:
    """Sort members by key; equal ones stay as they are."""
    if len(members) > _SMALL:
        members[:] = members[np.argsort(keys[members], kind="mergesort")]
        return
    for place in range(1, len(members)):
        member, hole = members[place], place
        while hole > 0 and keys[members[hole - 1]] > keys[member]:
            members[hole] = members[hole - 1]
            hole -= 1
        members[hole] = member


@compiled
def arranged(offsets: Int64s, members: Int64s, keys: Int64s) -> Int64s:
    """The members of each piece, sorted by key."""
    result = members.copy()
    for piece in range(len(offsets) - 1):
        _sort(result[offsets[piece] : offsets[piece + 1]], keys)
    return result


@compiled
def arranged_in_time(offsets: Int64s, members: Int64s, vs: Int64s, keys: Int64s) -> Int64s:
    """The members of each piece, sorted by vs and then by key. Rows are kept in order of their vs:
    mostly only those with the same one are to be sorted."""
    result = members.copy()
    for piece in range(len(offsets) - 1):
        part = result[offsets[piece] : offsets[piece + 1]]
        is_in_order = True
        for place in range(1, len(part)):
            if vs[part[place]] < vs[part[place - 1]]:
                is_in_order = False
                break
        if not is_in_order:
            _sort(part, keys)
            _sort(part, vs)
            continue
        begin = 0
        for place in range(1, len(part) + 1):
            if place == len(part) or vs[part[place]] != vs[part[begin]]:
                if place - begin > 1:
                    _sort(part[begin:place], keys)
                begin = place
    return result


@compiled
def distinct(offsets: Int64s, members: Int64s, keys: Int64s, vs: Int64s) -> tuple[Int64s, Int64s]:
    """One member for every key in each piece, sorted by key: that with the least vs."""
    kept, kept_offsets = arranged(offsets, members, keys), np.zeros(len(offsets), np.int64)
    count = 0
    for piece in range(len(offsets) - 1):
        for place in range(offsets[piece], offsets[piece + 1]):
            member = kept[place]
            if count > kept_offsets[piece] and keys[kept[count - 1]] == keys[member]:
                if vs[member] < vs[kept[count - 1]]:
                    kept[count - 1] = member
            else:
                kept[count] = member
                count += 1
        kept_offsets[piece + 1] = count
    return kept_offsets, kept[:count].copy()


@compiled
def extreme(
    offsets: Int64s, members: Int64s, times: Int64s, valid: Mask, keys: Int64s, sign: int
) -> Int64s:
    """The member of each piece that is first (sign 1) or last (sign -1) by time, then null before
    every value, then key; -1 where the piece is empty."""
    best = np.full(len(offsets) - 1, -1, np.int64)
    for piece in range(len(best)):
        for place in range(offsets[piece], offsets[piece + 1]):
            member, top = members[place], best[piece]
            if top < 0:
                best[piece] = member
            elif times[member] != times[top]:
                if (times[member] < times[top]) == (sign > 0):
                    best[piece] = member
            elif valid[member] != valid[top]:
                if valid[top] == (sign > 0):
                    best[piece] = member
            elif keys[member] != keys[top] and (keys[member] < keys[top]) == (sign > 0):
                best[piece] = member
    return best


@compiled
def most_frequent(offsets: Int64s, arranged_members: Int64s, keys: Int64s) -> Int64s:
    """Of each piece, whose members are sorted by key, one with the key that most have, of several
    the least; -1 where the piece is empty."""
    best = np.full(len(offsets) - 1, -1, np.int64)
    for piece in range(len(best)):
        most, count = 0, 0
        for place in range(offsets[piece], offsets[piece + 1]):
            member = arranged_members[place]
            if count and keys[arranged_members[place - 1]] == keys[member]:
                count += 1
            else:
                count = 1
            if count > most:
                most, best[piece] = count, member
    return best


@compiled
def float_sums(offsets: Int64s, members: Int64s, numbers: Floats) -> tuple[Floats, Floats, Floats]:
    """What `change_kernels.float_sums` gives of the members of each piece, in a quarter of the
    time."""
    pieces = len(offsets) - 1
    total, high, low = np.zeros(pieces), np.zeros(pieces), np.zeros(pieces)
    partials = np.empty(64)
    for piece in range(pieces):
        size, special, is_special = 0, 0.0, False
        for place in range(offsets[piece], offsets[piece + 1]):
            number = numbers[members[place]]
            if not np.isfinite(number):
                special = special + number if is_special else number
                is_special = True
                continue
            kept = 0
            for partial in range(size):
                number, rest = two_sum(number, partials[partial])
                if rest != 0.0:
                    partials[kept] = rest
                    kept += 1
            partials[kept] = number
            size = kept + 1
        if is_special:
            total[piece] = high[piece] = special
        elif size:
            total[piece], high[piece], low[piece] = rounded(partials, size)
    return total, high, low


@compiled
def squares(offsets: Int64s, members: Int64s, numbers: Floats) -> tuple[Floats, Floats]:
    """n · Σ x² - (Σ x)² of the n members of each piece, as two floats; NaN where a number is not
    finite. What `change_kernels.spreads` adds up exactly comes from the differences to the mean
    here, which are so small that two floats are enough, in a quarter of the time."""
    pieces = len(offsets) - 1
    found, found_rest = np.zeros(pieces), np.zeros(pieces)
    _, high, low = float_sums(offsets, members, numbers)
    for piece in range(pieces):
        begin, stop = offsets[piece], offsets[piece + 1]
        if begin == stop:
            continue
        if not np.isfinite(high[piece]):
            found[piece] = np.nan
            continue
        count = float(stop - begin)
        mean = high[piece] / count
        product, product_rest = two_product(mean, count)
        mean_rest = ((high[piece] - product) - product_rest + low[piece]) / count
        total, total_rest = 0.0, 0.0
        least, greatest = numbers[members[begin]], numbers[members[begin]]
        for place in range(begin, stop):
            number = numbers[members[place]]
            least, greatest = min(least, number), max(greatest, number)
            spread, rest = two_sum(number, -mean)
            spread, rest = two_sum(spread, rest - mean_rest)
            square, square_rest = two_product(spread, spread)
            square_rest += 2.0 * spread * rest
            total, carry = two_sum(total, square)
            total_rest += carry + square_rest
        if least < greatest:
            total, total_rest = two_sum(total, total_rest)
            product, product_rest = two_product(total, count)
            found[piece], found_rest[piece] = two_sum(product, product_rest + total_rest * count)
    return found, found_rest


@compiled
def rounded(partials: Floats, size: int) -> tuple[float, float, float]:
    """The nearest float to the sum of partials that do not overlap, and the sum as two floats."""
    size -= 1
    high, low = partials[size], 0.0
    while size > 0:
        size -= 1
        high, low = two_sum(high, partials[size])
        if low != 0.0:
            break
    rest = low
    for partial in range(size - 1, -1, -1):
        rest += partials[partial]
    total = high
    if size > 0 and (
        (low < 0.0 and partials[size - 1] < 0.0) or (low > 0.0 and partials[size - 1] > 0.0)
    ):
        # `low` alone looks like a tie, but what is below it says which way to round.
        twice = low * 2.0
        moved = high + twice
        if twice == moved - high:
            total = moved
    return total, high, rest


@in_place
def _divided(high: float, low: float, divisor: float) -> tuple[float, bool]:
    """The nearest float to (high + low) / divisor, and whether that is in doubt."""
    quotient = high / divisor
    product, product_rest = two_product(quotient, divisor)
    rest = ((high - product) - product_rest + low) / divisor
    result = quotient + rest
    doubt = abs(rest) * DOUBT
    return result, quotient + (rest - doubt) != quotient + (rest + doubt)


@compiled
def quotients_of_spreads(
    high: Floats, low: Floats, counts: Int64s, degrees_lost: int, scale: Floats
) -> tuple[Floats, Mask]:
    """(high + low) / (count · (count - degrees lost) · scale) of each piece, rounded once, and
    whether that is in doubt; the scale is a sum of two floats."""
    results, unsure = np.zeros(len(high)), np.zeros(len(high), np.bool_)
    for piece in range(len(high)):
        if counts[piece] <= degrees_lost or high[piece] == 0.0 or np.isnan(high[piece]):
            results[piece] = high[piece]
            continue
        degrees, degrees_rest = two_product(
            float(counts[piece]), float(counts[piece] - degrees_lost)
        )
        divisor, rest = two_product(degrees, scale[0])
        divisor, rest = two_sum(divisor, rest + degrees * scale[1] + degrees_rest * scale[0])
        quotient = high[piece] / divisor
        results[piece], unsure[piece] = _divided(high[piece], low[piece] - quotient * rest, divisor)
        unsure[piece] |= abs(results[piece]) < _LEAST_VARIANCE
    return results, unsure


@compiled
def quotients(high: Floats, low: Floats, divisors: Floats) -> tuple[Floats, Mask]:
    """(high + low) / divisor of each piece, rounded once, and whether that is in doubt."""
    results, unsure = np.empty(len(high)), np.zeros(len(high), np.bool_)
    for piece in range(len(high)):
        if not np.isfinite(high[piece]) or high[piece] == 0.0:
            results[piece] = high[piece]
            continue
        results[piece], doubt = _divided(high[piece], low[piece], divisors[piece])
        unsure[piece] = doubt or abs(results[piece]) < _LEAST_QUOTIENT
    return results, unsure
