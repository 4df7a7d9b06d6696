// Makes loops over updates, which run in order since two may meet in one element, of nests that need no order.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before:
//
//   nest scatter  ordered i<20000
//     let at = b1[i]
//     y[at] = u[i]
//
// After: the last of the updates of an element is found first:
//
//   nest scatter_none  axes d<9
//     last[d] = -1
//   nest scatter_last  ordered i<20000
//     let at = b1[i]
//     last[at] maximum= i
//   nest scatter  axes i<20000
//     let at = b1[i]
//     y[at] = u[i] where last[at] == i
//
// A store that combines gives the same in any order if the arithmetic is exact (is_order_free, ir/loops/operations.h),
// and a target does it by atomic operations. Integers, minima and maxima stay as they are, in a buffer of 32 bits if
// they have less. Sums of floating-point numbers of at most 32 bits are sums of integers: the updates of an element are
// multiplied by a power of two that leaves the largest as many of 62 bits as their number allows, and rounded. The
// result depends on no order, and is more exact than a sum in float32. (Demmel and Nguyen, Fast Reproducible
// Floating-Point Summation, 2013, round to a common unit too.)
//
// Left alone are loops of fewer than 64 iterations, and those that read what they store; products of floating-point
// numbers, and sums of float64, since integers of 64 bits would lose their digits.
void split_scatters(Program& program);

}  // namespace onnxc
