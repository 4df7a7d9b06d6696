// The passes: one table for the pipeline and for --run-pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/program/program.h"
#include "passes/lowering/target.h"
#include "support/limits.h"

namespace onnxc {

// `narrowing`: where values between nodes are stored in 16 bits (--precision).
enum class When : uint8_t { always, optimizing, optimizing_for_cpu, optimizing_for_gpu, narrowing };

struct GraphPass {
  std::string_view name;
  When when;
  void (*run)(Graph&, const Limits&);
};

struct ProgramPass {
  std::string_view name;
  When when;
  void (*run)(Program&, const Target&);
};

// Each in the order in which the passes run. Shapes are inferred before anything else, since all else asks for them.
std::span<const GraphPass> shape_passes();
std::span<const GraphPass> graph_passes();
std::span<const ProgramPass> program_passes();

struct PassConditions {
  bool optimizes = false, for_gpu = false, narrows = false;
};
// Those that only make a model faster or smaller, each of which can be left out (--skip-pass).
std::vector<std::string> optional_passes();

bool applies(When when, const PassConditions& conditions);

}  // namespace onnxc
