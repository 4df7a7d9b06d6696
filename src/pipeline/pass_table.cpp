#include "pipeline/pass_table.h"

#include <algorithm>
#include <array>

#include "passes/graph/apply_size_rules.h"
#include "passes/graph/fold_batch_normalization.h"
#include "passes/graph/fold_constants.h"
#include "passes/graph/infer_shapes.h"
#include "passes/graph/simplify.h"
#include "passes/graph/trim_kernels.h"
#include "passes/graph/use_integer_products.h"
#include "passes/graph/widen_scores.h"
#include "passes/program/drop_dead_steps.h"
#include "passes/program/drop_roundings.h"
#include "passes/program/eliminate_copies.h"
#include "passes/program/fuse_epilogues.h"
#include "passes/program/fuse_kernels.h"
#include "passes/program/fuse_nests.h"
#include "passes/program/place_stores.h"
#include "passes/program/split_reductions.h"
#include "passes/program/split_running_folds.h"
#include "passes/program/split_scatters.h"
#include "passes/program/take_nests.h"
#include "passes/recognition/recognize_operators.h"
#include "passes/recognition/scale_products.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// A pass that asks the target nothing.
template <void (*pass)(Program&)>
void for_any_target(Program& program, const Target& /*target*/) {
  pass(program);
}

// A pass that makes nothing of a size to speak of.
template <void (*pass)(Graph&)>
void within_any_limits(Graph& graph, const Limits& /*limits*/) {
  pass(graph);
}

// Whether it has a thread for each of many results.
bool is_wide(const Target& target) { return target.parallel_results > 0; }

void fold_all_constants(Graph& graph, const Limits& limits) {
  fold_constants(graph, {.all_constants_bytes = limits.max_memory});
}

constexpr std::array shape_rows = {
    GraphPass{"infer_shapes", When::always, within_any_limits<infer_shapes>},
    GraphPass{"apply_size_rules", When::always, within_any_limits<apply_size_rules>},
};

constexpr std::array graph_rows = {
    // Before constants are folded: weights would no longer be integers.
    GraphPass{"use_integer_products", When::multiplying_integers, within_any_limits<use_integer_products>},
    GraphPass{"fold_constants", When::always, fold_all_constants},
    GraphPass{"simplify", When::always, within_any_limits<simplify>},
    GraphPass{"widen_scores", When::always, within_any_limits<widen_scores>},
    GraphPass{"recognize_operators", When::optimizing, within_any_limits<recognize_operators>},
    GraphPass{"scale_products", When::keeping_types, within_any_limits<scale_products>},
    // After constants are folded, since it multiplies weights.
    GraphPass{"fold_batch_normalization", When::optimizing, within_any_limits<fold_batch_normalization>},
    GraphPass{"trim_kernels", When::optimizing, within_any_limits<trim_kernels>},
};

constexpr std::array program_rows = {
    // First: a reader that nobody needs would keep a nest from moving into the other one.
    ProgramPass{"drop_dead_steps", When::optimizing, for_any_target<drop_dead_steps>},
    ProgramPass{"fuse_nests", When::optimizing, for_any_target<fuse_nests>},
    // Before epilogues: a nest that stores into part of a Concat becomes one that a kernel can take.
    ProgramPass{"place_stores", When::optimizing, for_any_target<place_stores>},
    ProgramPass{"fuse_epilogues", When::optimizing, fuse_epilogues},
    // After what keeps values in registers, before kernels look at epilogues again.
    ProgramPass{"drop_roundings", When::narrowing, for_any_target<drop_roundings>},
    // After epilogues: what scales and masks the scores stands in that of their product, and what lies between a
    // convolution and its pool in that of the convolution.
    ProgramPass{"fuse_kernels", When::optimizing, fuse_kernels},
    // Also without optimisation: a Reshape is a copy until here.
    ProgramPass{"eliminate_copies", When::always, for_any_target<eliminate_copies>},
    ProgramPass{"split_running_folds", When::spreading_over_threads, for_any_target<split_running_folds>},
    ProgramPass{"split_scatters", When::spreading_over_threads, for_any_target<split_scatters>},
    ProgramPass{"split_reductions", When::spreading_over_threads, split_reductions},
    // Last, since the passes above look into nests.
    ProgramPass{"take_nests", When::optimizing, take_nests},
};

}  // namespace

std::span<const GraphPass> shape_passes() { return shape_rows; }
std::span<const GraphPass> graph_passes() { return graph_rows; }
std::span<const ProgramPass> program_passes() { return program_rows; }

std::vector<std::string> optional_passes() {
  std::vector<std::string> names;
  const auto add = [&](const auto& pass) {
    if (pass.when != When::always) names.emplace_back(pass.name);
  };
  for (const GraphPass& pass : graph_rows) add(pass);
  for (const ProgramPass& pass : program_rows) add(pass);
  return names;
}

bool applies(When when, const PassConditions& conditions) {
  switch (when) {
    case When::always:
      return true;
    case When::optimizing:
      return conditions.optimizes;
    case When::multiplying_integers:
      return conditions.optimizes && std::ranges::all_of(conditions.targets, &Target::multiplies_integers);
    case When::spreading_over_threads:
      return conditions.optimizes && std::ranges::all_of(conditions.targets, is_wide);
    case When::narrowing:
      return conditions.narrows;
    case When::keeping_types:
      return conditions.optimizes && !conditions.narrows;
  }
  internal_error("every condition of a pass has its meaning");
}

}  // namespace onnxc
