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
};

// A kernel that computes what a loop nest does.
struct NestKernel {
  std::string_view name;
  // Nothing if it does not compute this nest.
  std::function<std::optional<KernelCall>(const Program&, const LoopNest&)> take;
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
  // The cost of copying one vector of a tensor from blocks to rows.
  double copy_to_rows_cost = 0;
  // The kernels' offers for a node, each kernel asked once; empty if its definition is used.
  std::function<Offers(const Node&, const Graph&)> offers;
  // Whether the kernel can apply `epilogue`, in which accumulator 0 is the kernel's result, and store to `output`.
  std::function<bool(const Program&, const KernelCall&, const Epilogue&, BufferId output)> fits_epilogue;
  std::vector<Fusion> fusions;    // in the order in which they are tried
  std::vector<NestKernel> nests;  // the same

  Layout blocked_layout(size_t rank) const { return Layout::channel_blocked(rank, block_channels); }
};

}  // namespace onnxc
