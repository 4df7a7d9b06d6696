// A loop nest over physical memory: blocked axes are split into blocks and lanes, and every load and store has one
// index, the offset of its element in the storage that owns the memory.
//
// Before (y and x are nCw16c, C = 20):
//
//   nest relu  parallel n<2, c<20, w<5
//     y[n, c, w] = max(x[n, c, w], 0)
//
// After:
//
//   n<2, c_block<2, c_lane<16, w<5
//     y[160*n + 80*c_block + 16*w + c_lane] = max(x[160*n + 80*c_block + 16*w + c_lane], 0)
//       in lanes for which 16*c_block + c_lane < 20, zero in the others
//
// An axis is split if it indexes a blocked axis of a buffer, by itself or plus whole blocks. If a store is split so,
// the loop covers the padding as well and stores zeros there. A store into a padded buffer that is not split (c + 20 of
// a Concat, a scatter) leaves the padding to a nest of its own (fill_padding). Other indices of blocked axes keep a
// division.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/program/program.h"

namespace onnxc {

struct FlatLoop {
  Symbol symbol;
  Expr extent;  // over dims and the symbols of loops outside of it
  AxisKind kind;
};

struct FlatStore {
  BufferId storage;
  DType dtype;
  Expr offset;
  Scalar value;
  StoreKind kind;
  Scalar condition;  // boolean; empty means always
  Scalar inside;     // boolean: if it is false zero is stored, since the element is padding; empty means everywhere
};

// The element after the store: the value, combined with the old element if the kind says so.
Scalar stored_value(const FlatStore& store);

struct FlatNest {
  std::string name;
  std::vector<FlatLoop> loops;  // outermost first
  std::vector<Let> lets;
  std::vector<Accumulator> accumulators;
  std::vector<FlatStore> stores;
};

FlatNest flatten(const Program& program, const LoopNest& nest);

// The nests that write zeros into the padding of buffers that `nest` stores without covering it.
std::vector<FlatNest> fill_padding(const Program& program, const LoopNest& nest);

// Every integer expression of the nest but the extents of its loops.
void for_each_expr(const FlatNest& nest, const std::function<void(const Expr&)>& visit);
// Every scalar: lets, elements, stored values and conditions.
void for_each_scalar(const FlatNest& nest, const std::function<void(const Scalar&)>& visit);
// Replaces symbols in all but the loops themselves.
void substitute(FlatNest& nest, const std::map<Symbol, Expr>& replacements);

// The memory that a nest reads or stores: a storage from one of its elements on.
struct NestMemory {
  BufferId storage;
  DType dtype;
  int64_t first = 0;
};

// Numbers the storages of a nest 0, 1, ... in the order of first use, and takes the least constant out of the offsets
// into each. So nests that do the same to other memory become equal, such as those of the parts of a Concat.
std::vector<NestMemory> number_storages(FlatNest& nest);

std::string to_string(const FlatNest& nest);

}  // namespace onnxc
