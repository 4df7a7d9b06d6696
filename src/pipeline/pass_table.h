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

// `multiplying_integers`, `spreading_over_threads`: when optimizing for targets whose kernels multiply integers, or
// which have a thread for each of many results. `narrowing`: when values between nodes are stored in 16 bits
// (--precision); `keeping_types`: when optimizing and they are not.
enum class When : uint8_t {
  always,
  optimizing,
  multiplying_integers,
  spreading_over_threads,
  narrowing,
  keeping_types
};

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
  bool optimizes = false, narrows = false;
  std::span<const Target> targets = {};  // all that the graph or the program is for
};
// Those that only make a model faster or smaller; each can be left out (--skip-pass).
std::vector<std::string> optional_passes();

bool applies(When when, const PassConditions& conditions);

}  // namespace onnxc
