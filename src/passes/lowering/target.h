// A target as the passes see it: data. It owns the machine that it is for; passes ask what follows from the machine.
// Its kernels offer to compute nodes, its fusions replace chains of kernel calls, and its kernels for nests take loop
// nests.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/program/program.h"
#include "machine/machine.h"
#include "passes/lowering/offer.h"

namespace onnxc {

// One kernel for a chain of calls; each is the only reader of the one before.
struct Fusion {
  std::string_view name;
  size_t calls;  // of the chain
  // Nothing if the target has no kernel for this chain. It may add buffers to the program.
  std::function<std::optional<KernelCall>(Program&, std::span<const KernelCall* const> chain)> fuse;
  // How much less, at least, one kernel costs than two that are called as these offers say; 0 if it does not replace
  // them. Null if it is not estimated: then the choice of layouts does not count it.
  std::function<double(const Offer& first, const Offer& second)> saving = {};
};

// A kernel that computes what a loop nest does.
struct NestKernel {
  std::string_view name;
  // Nothing if it does not compute this nest.
  std::function<std::optional<KernelCall>(const Program&, const LoopNest&)> take;
};

// Costs of all that is not a kernel, on the scale of Offer::cost.
struct LayoutCosts {
  // Copying a vector of a tensor, which is a voxel's block of channels, from one layout to the other.
  double copy_to_rows = 0, copy_to_blocks = 0;
  double copy_step = 0;  // each copy, whatever its size
  // So much less counts as equal if a kernel may give blocks, and gives rows: costs may be too rough to tell.
  double preference_for_blocks = 0;
  // In loop nests: a vector read or written, a byte of weights, an operation on a vector, and one on an element that a
  // reduction folds.
  double moved_vector = 0, weight_byte = 0, operation = 0, folded_element = 0;
};

struct Target {
  std::string name;  // in reports: "the CPU"
  Machine machine;
  int64_t block_channels;  // of NCHWc
  // Whether kernels multiply integers and sum them.
  bool multiplies_integers = false;
  // So many results, a thread for each, keep the machine busy; 0: its few threads compute many results each.
  int64_t parallel_results = 0;
  std::string cost_unit = {};  // of costs: "microseconds"
  LayoutCosts costs = {};
  // Whether the cost of a definition can be held against those of kernels; else it is taken only if no kernel is.
  bool weighs_definitions = true;
  // The kernels' offers for a node, each kernel asked once; empty if its definition is used.
  std::function<Offers(const Node&, const Graph&)> offers;
  // Whether the kernel can apply `epilogue`, in which accumulator 0 is the kernel's result, and store to `output`.
  std::function<bool(const Program&, const KernelCall&, const Epilogue&, BufferId output)> fits_epilogue;
  std::vector<Fusion> fusions;    // in the order in which they are tried
  std::vector<NestKernel> nests;  // the same

  Layout blocked_layout(size_t rank) const { return Layout::channel_blocked(rank, block_channels); }
};

}  // namespace onnxc
