#include "codegen/hip/memory_bound/line_spec.h"

#include <algorithm>

#include "codegen/call/kernel_call.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

const char* name(LineKind kind) {
  switch (kind) {
    case LineKind::softmax:
      return "softmax";
    case LineKind::log_softmax:
      return "log_softmax";
    case LineKind::moments:
      return "moments";
    case LineKind::mean_square:
      return "mean_square";
  }
  internal_error("a kind of lines");
}

const char* name(LineMemory place) {
  switch (place) {
    case LineMemory::whole:
      return "whole";
    case LineMemory::part:
      return "part";
    case LineMemory::cut:
      return "cut";
  }
  internal_error("a memory of lines that has no name");
}

std::string plan_text(const LinePlan& plan) {
  return fmt::format("LinePlan{{LineKind::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, LineMemory::{}, LineMemory::{}{}}}",
                     name(plan.kind), plan.outer_axes, plan.line_axes, plan.columns, plan.lanes, plan.threads,
                     plan.vector, plan.held, plan.group_lanes, plan.is_blocked, name(plan.input), name(plan.output),
                     plan.is_wide ? ", true" : "");
}

Expr product_of(const Shape& extents, int first, int end) {
  return product(Shape(extents.begin() + first, extents.begin() + end));
}

}  // namespace

Expr Lines::outer() const { return product_of(extents, 0, outer_axes); }
Expr Lines::columns() const { return product_of(extents, outer_axes, outer_axes + line_axes); }
Expr Lines::inner() const { return product_of(extents, outer_axes + line_axes, static_cast<int>(extents.size())); }

std::string PlannedLines::title() const {
  if (is_in_chunks()) return fmt::format("{} of chunks of lines", name(plan.kind));
  const std::optional<int64_t> columns = lines.columns().constant();
  return fmt::format("{} of lines{}", name(plan.kind), columns ? fmt::format(" of {}", *columns) : "");
}

std::optional<LinePlan> plan_with_line_a_block(const PlannedLines& planned) {
  const Lines& lines = planned.lines;
  if (!lines.is_blocked || lines.kind != LineKind::moments || planned.plan.columns == 0) return std::nullopt;
  const LinePlan plan = line_a_block(planned.plan);
  return plan.always_fits() ? std::optional(plan) : std::nullopt;
}

bool has_whole_chunks(const PlannedLines& planned) {
  const std::optional<int64_t> length = planned.lines.columns().constant();
  return planned.lines.is_blocked && length && *length != 0 && *length % planned.plan.capacity() == 0;
}

// ------------------------------------------------------------------------------------------- both

std::string LineSpecBase::plan_text_of(const KernelCall& call, const Program& program) const {
  return plan_text(plan_of(call, program));
}

std::string LineSpecBase::sizes(const KernelText& text) const {
  std::vector<std::string> extents;
  for (const Expr& extent : lines().extents) extents.push_back(text.expr(extent));
  extents.resize(LineSizes::most_axes, "1");
  return braced({braced(extents), text.expr(lines().channels)});
}

std::string LineSpecBase::line_arguments(const KernelCall& call, const KernelText& text) const {
  return braced({text.pointer(call.inputs[0]), text.pointer(call.output),
                 fmt::format("{:a}F", static_cast<float>(lines().epsilon)), sizes(text),
                 fmt::format("{}.launch({}){}", plan_text(plan()), sizes(text), parts_), view(text, call.inputs[0]),
                 view(text, call.output)});
}

std::optional<LineSizes> LineSpecBase::known_sizes() const {
  LineSizes sizes{};
  for (size_t i = 0; i < LineSizes::most_axes; ++i) {
    const std::optional<int64_t> extent = i < lines().extents.size() ? lines().extents[i].constant() : 1;
    if (!extent) return std::nullopt;
    sizes.extents[i] = *extent;
  }
  return sizes;
}

KernelFigures LineSpecBase::figures_of(const std::optional<GpuEstimate>& estimate) const {
  // Lines are held in registers, which suffice for three wavefronts. A unit holds whole blocks.
  const int64_t of_block = kernels::block_waves(planned_.gpu),
                planned_waves = std::max(3 / of_block, int64_t{1}) * of_block;
  KernelFigures figures{plan().lds_bytes(planned_.gpu), planned_waves};
  if (estimate) figures.expected = Expected{estimate->microseconds, onnxc::describe(estimate->bound)};
  return figures;
}

// A thread loads one element at a time if the next one may lie elsewhere.
LinePlan LineSpecBase::plan_of(const KernelCall& call, const Program& program) const {
  LinePlan result = plan();
  result.input = place(program, call.inputs[0]);
  result.output = place(program, call.output);
  if (result.input != LineMemory::whole || result.output != LineMemory::whole) {
    result.held *= result.vector;
    result.vector = 1;
  }
  return result;
}

// In the order of the axes in memory.
std::vector<Expr> LineSpecBase::strides(const Program& program, BufferId id) const {
  std::vector<Expr> result = {axis_stride(program, id, 0)};
  if (lines().is_blocked)
    result.push_back(axis_stride(program, id, 1, kernels::block_channels));
  else
    result.insert(result.end(), {axis_stride(program, id, 1) * lines().extents[2], axis_stride(program, id, 1)});
  for (size_t axis = 2; axis < program.buffer(id).shape.size(); ++axis)
    result.push_back(axis_stride(program, id, axis));
  if (lines().is_blocked) result.emplace_back(1);
  return result;
}

LineMemory LineSpecBase::place(const Program& program, BufferId id) const {
  if (!program.buffer(id).view) return LineMemory::whole;
  const std::vector<Expr> found = strides(program, id);
  Expr contiguous = lines().inner();
  for (size_t i = 0; i < static_cast<size_t>(lines().line_axes); ++i) {
    const auto axis = static_cast<size_t>(lines().outer_axes + lines().line_axes - 1) - i;
    if (!proven_equal(found[axis], contiguous)) return LineMemory::cut;
    contiguous = contiguous * lines().extents[axis];
  }
  return LineMemory::part;
}

std::string LineSpecBase::view(const KernelText& text, BufferId id) const {
  if (place(text.program, id) == LineMemory::whole) return "{}";
  std::vector<std::string> texts;
  for (const Expr& stride : strides(text.program, id)) texts.push_back(text.expr(stride));
  texts.resize(LineSizes::most_axes, "0");
  return braced({braced(texts)});
}

// ------------------------------------------------------------------------------------------- whole lines

std::string LineSpec::arguments_type(const KernelCall& call, const Program& program) const {
  return fmt::format("LineArguments<{}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output));
}

std::string LineSpec::function(const KernelCall& call, const Program& program) const {
  return fmt::format("normalized_lines<{}>", plan_text_of(call, program));
}

std::string LineSpec::arguments(const KernelCall& call, const KernelText& text) const {
  return line_arguments(call, text);
}

std::string LineSpec::blocks() const { return plan_text(plan()) + ".blocks(arguments.call.sizes)"; }

KernelFigures LineSpec::figures() const {
  const std::optional<LineSizes> sizes = known_sizes();
  return figures_of(sizes ? std::optional(estimate_lines(plan(), *sizes, planned_.element_size, planned_.gpu))
                          : std::nullopt);
}

bool LineSpec::is_softmax_of_last_axis() const {
  return lines().kind == LineKind::softmax && lines().line_axes == 1 &&
         static_cast<size_t>(lines().outer_axes) + 1 == lines().extents.size();
}

std::shared_ptr<LineSpec> LineSpec::with_plan(const LinePlan& plan) const {
  auto result = std::make_shared<LineSpec>(*this);
  result->planned_.plan = plan;
  return result;
}

// ------------------------------------------------------------------------------------------- lines in chunks

std::string LineChunkSpec::arguments_type(const KernelCall& call, const Program& program) const {
  return fmt::format("ChunkArguments<{}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output));
}

std::string LineChunkSpec::function(const KernelCall& call, const Program& program) const {
  return fmt::format("partial_moments<{}>", plan_text_of(call, program));
}

std::string LineChunkSpec::arguments(const KernelCall& call, const KernelText& text) const {
  const std::string offset = partial_offset_ == 0 ? "" : fmt::format(" + {}", partial_offset_);
  const std::string plan = plan_text(this->plan()), extents = sizes(text);
  return braced({line_arguments(call, text), text.pointer(*call.workspace) + offset,
                 fmt::format("{}.share({}, {})", plan, extents, planned_.common_lines),
                 fmt::format("{0}.moment_folds({1}, {0}.launch({1}){2}.parts.divisor, {3}, planned_gpu)", plan, extents,
                             parts_, planned_.common_lines)});
}

std::string LineChunkSpec::blocks() const { return plan_text(plan()) + ".part_blocks(arguments.call.lines.sizes)"; }

std::vector<DeviceFunction> LineChunkSpec::further(const KernelCall& call, const Program& program) const {
  return last_launches(call, program, "arguments.call");
}

KernelFigures LineChunkSpec::figures() const {
  const std::optional<ChunkEstimate> known = known_estimate();
  return figures_of(known ? std::optional(known->statistics) : std::nullopt);
}

std::vector<DeviceFunction> LineChunkSpec::last_launches(const KernelCall& call, const Program& program,
                                                         const std::string& chunks) const {
  const std::string instance = plan_text_of(call, program), plan = plan_text(this->plan());
  const std::optional<ChunkEstimate> known = known_estimate();
  std::vector<DeviceFunction> launches;
  if (!known || known->fold)
    launches.push_back({fmt::format("fold_moments<{}, {}>", instance, planned_.common_lines),
                        fmt::format("{}.fold_blocks({})", plan, chunks),
                        figures_of(known ? known->fold : std::nullopt)});
  for (const bool are_folded : {true, false})
    if (!known || known->fold.has_value() == are_folded)
      launches.push_back({fmt::format("normalized_chunks<{}, {}, {}>", instance, planned_.common_lines, are_folded),
                          fmt::format("{}.chunk_blocks({}, {})", plan, chunks, are_folded),
                          figures_of(known ? std::optional(known->normalized) : std::nullopt)});
  return launches;
}

std::shared_ptr<LineChunkSpec> LineChunkSpec::with_parts(int64_t columns, int64_t offset) const {
  auto result = std::make_shared<LineChunkSpec>(*this);
  if (columns != 0) result->parts_ = fmt::format(".in_parts({})", columns);
  result->part_columns_ = columns;
  result->partial_offset_ = offset;
  return result;
}

std::optional<ChunkEstimate> LineChunkSpec::known_estimate() const {
  const std::optional<LineSizes> sizes = known_sizes();
  if (!sizes) return std::nullopt;
  return estimate_chunks(plan(), *sizes, part_columns_, planned_.common_lines, planned_.element_size, planned_.gpu);
}

}  // namespace onnxc
