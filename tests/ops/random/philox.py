"""The numbers of a node that draws, computed as the paper and the documentation have them, with only numpy.

Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from typing import Any

import numpy as np

from models.tensor_files import Array

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: Array, key: Array) -> Array:
    """Four words, uint64 [4, n] of values below 2**32, from as many and a key of uint64 [2, n]."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        first, second = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (second >> HALF) ^ c1 ^ k0, second & LOW, (first >> HALF) ^ c3 ^ k1, first & LOW
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & LOW, (k1 + np.uint64(0xBB67AE85)) & LOW
    return np.stack([c0, c1, c2, c3])


def random_bits(counter: Array, key: int) -> Array:
    """The first half of the block at each counter; uint64."""
    counter = np.asarray(counter, np.uint64)
    zero = np.zeros_like(counter)
    keys = np.stack([zero + np.uint64(key & 0xFFFFFFFF), zero + np.uint64(key >> 32)])
    words = philox(np.stack([counter & LOW, counter >> HALF, zero, zero]), keys)
    return words[1] << HALF | words[0]


def key_of(output: str, seed: int, rounds: int = 0) -> int:
    """The numbers of a node by its first output's name; `rounds` of loops have begun."""
    name = 0xCBF29CE484222325  # FNV-1a
    for letter in output.encode():
        name = (name ^ letter) * 0x100000001B3 % 2**64
    stream = int(random_bits(np.array([name], np.uint64), seed)[0])
    return int(random_bits(np.array([rounds], np.uint64), stream)[0])


def bits_of_float(seed: float) -> int:
    return int(np.float32(seed).view(np.uint32))


def uniform(count: int, key: int, digits: int) -> Array:
    """In [0, 1), of float64."""
    bits = random_bits(np.arange(count, dtype=np.uint64), key)
    return (bits >> np.uint64(64 - digits)).astype(np.float64) * 2.0**-digits


def normal(count: int, key: int, is_double: bool) -> Array:
    """Box and Muller's, in float64 but for what float32 rounds before the logarithm and the cosine."""
    compute: Any = np.float64 if is_double else np.float32
    if is_double:
        radius = random_bits(np.arange(count, dtype=np.uint64), key) >> np.uint64(11)
        angle = random_bits(np.arange(count, dtype=np.uint64), key ^ 1) >> np.uint64(11)
        digits, angle_digits = 53, 53
    else:
        bits = random_bits(np.arange(count, dtype=np.uint64), key)
        radius, angle = bits >> np.uint64(33), bits & np.uint64(2**24 - 1)
        digits, angle_digits = 31, 24
    shares = radius.astype(compute) * compute(2.0**-digits) + compute(2.0 ** -(digits + 1))
    angles = angle.astype(compute) * compute(2.0**-angle_digits) * compute(2 * np.pi)
    return np.sqrt(-2 * np.log(shares.astype(np.float64))) * np.cos(angles.astype(np.float64))
