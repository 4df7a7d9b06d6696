#include "codegen/hip/memory_bound/line_kernel.h"

#include <algorithm>
#include <cmath>

#include "codegen/call/kernel_call.h"
#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_choice.h"
#include "codegen/hip/memory_bound/line_choice.h"
#include "ops/network/normalization_spec.h"
#include "ops/network/softmax_spec.h"
#include "ops/op.h"
#include "passes/lowering/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::block_channels;
using kernels::LineKind;
using kernels::LineMemory;
using kernels::LinePlan;
using kernels::LineSizes;

constexpr const char *device_header_path = "kernels/hip/memory_bound/normalized_lines.h",
                     *host_header_path = "kernels/hip/memory_bound/line_geometry.h";
constexpr int64_t planned_waves = 3;  // lines are held in registers
// The names under which the kernel passes indices, in the order of the axes in memory.
constexpr const char* index_names[] = {"n", "g", "c", "d", "h", "w"};

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

LineKind kind_of(const SoftmaxSpec& spec) { return spec.takes_logarithm() ? LineKind::log_softmax : LineKind::softmax; }
LineKind kind_of(const LayerNormalizationSpec& spec) {
  return spec.subtracts_mean ? LineKind::moments : LineKind::mean_square;
}

// A tensor as lines.
struct Lines {
  LineKind kind;
  Shape extents;  // of its axes in memory
  int outer_axes, line_axes;
  Expr channels = 0;  // of a tensor in blocks of channels
  bool is_blocked = false;
  int64_t group_lanes = 1;
  std::vector<std::string> coordinates;  // of its logical axes, of the indices that the kernel passes
  double epsilon = 0;
  bool is_by_instance = false;  // of [N, C, ...]

  Expr part(size_t first, size_t end) const {
    return product(Shape(extents.begin() + static_cast<long>(first), extents.begin() + static_cast<long>(end)));
  }
  Expr outer() const { return part(0, static_cast<size_t>(outer_axes)); }
  Expr columns() const { return part(static_cast<size_t>(outer_axes), static_cast<size_t>(outer_axes + line_axes)); }
  Expr inner() const { return part(static_cast<size_t>(outer_axes + line_axes), extents.size()); }
};

LineShape shape_of(const Lines& lines, const Program& program, int64_t element_size) {
  auto usual = [&](const Expr& size) { return usual_size(program, size).value_or(1); };
  return {.kind = lines.kind,
          .outer_axes = lines.outer_axes,
          .line_axes = lines.line_axes,
          .outer = usual(lines.outer()),
          .columns = usual(lines.columns()),
          .inner = usual(lines.inner()),
          .columns_are_known = lines.columns().constant().has_value(),
          .is_contiguous = lines.inner().is_constant(1),
          .is_blocked = lines.is_blocked,
          .group_lanes = lines.group_lanes,
          .element_size = element_size};
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
  return fmt::format("LinePlan{{LineKind::{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, LineMemory::{}, LineMemory::{}}}",
                     name(plan.kind), plan.outer_axes, plan.line_axes, plan.columns, plan.lanes, plan.threads,
                     plan.vector, plan.held, plan.group_lanes, plan.is_blocked, name(plan.input), name(plan.output));
}

// The common part of the two kernels.
class LineSpecBase : public HipKernelSpec {
 public:
  LineSpecBase(Lines lines, const LinePlan& plan, int64_t element_size, const GpuMachine& gpu, KernelOperands operands)
      : lines_(std::move(lines)), plan_(plan), element_size_(element_size), gpu_(gpu), operands_(std::move(operands)) {}

  KernelOperands operands() const override { return operands_; }

  // Others are counted through whole buffers.
  bool accepts_views() const override { return lines_.is_by_instance; }
  std::string device_header() const override { return device_header_path; }
  std::string host_header() const override { return host_header_path; }
  std::string plan_text_of(const KernelCall& call, const Program& program) const {
    return plan_text(plan_of(call, program));
  }
  const LinePlan& plan() const { return plan_; }

 protected:
  std::string sizes(const KernelText& text) const {
    std::vector<std::string> extents;
    for (const Expr& extent : lines_.extents) extents.push_back(text.expr(extent));
    extents.resize(LineSizes::most_axes, "1");
    return braced({braced(extents), text.expr(lines_.channels)});
  }
  std::string line_arguments(const KernelCall& call, const KernelText& text) const {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output),
                   fmt::format("{:a}F", static_cast<float>(lines_.epsilon)), sizes(text),
                   fmt::format("{}.launch({}){}", plan_text(plan_), sizes(text), parts_), view(text, call.inputs[0]),
                   view(text, call.output)});
  }
  // A thread loads one element at a time if the next one may lie elsewhere.
  LinePlan plan_of(const KernelCall& call, const Program& program) const {
    LinePlan plan = plan_;
    plan.input = place(program, call.inputs[0]);
    plan.output = place(program, call.output);
    if (plan.input != LineMemory::whole || plan.output != LineMemory::whole) {
      plan.held *= plan.vector;
      plan.vector = 1;
    }
    return plan;
  }

  // In the order of the axes in memory.
  std::vector<Expr> strides(const Program& program, BufferId id) const {
    std::vector<Expr> result = {axis_stride(program, id, 0)};
    if (lines_.is_blocked)
      result.push_back(axis_stride(program, id, 1, block_channels));
    else
      result.insert(result.end(), {axis_stride(program, id, 1) * lines_.extents[2], axis_stride(program, id, 1)});
    for (size_t axis = 2; axis < program.buffer(id).shape.size(); ++axis)
      result.push_back(axis_stride(program, id, axis));
    if (lines_.is_blocked) result.emplace_back(1);
    return result;
  }
  LineMemory place(const Program& program, BufferId id) const {
    if (!program.buffer(id).view) return LineMemory::whole;
    const std::vector<Expr> found = strides(program, id);
    Expr contiguous = lines_.inner();
    for (size_t i = 0; i < static_cast<size_t>(lines_.line_axes); ++i) {
      const auto axis = static_cast<size_t>(lines_.outer_axes + lines_.line_axes - 1) - i;
      if (!proven_equal(found[axis], contiguous)) return LineMemory::cut;
      contiguous = contiguous * lines_.extents[axis];
    }
    return LineMemory::part;
  }
  std::string view(const KernelText& text, BufferId id) const {
    if (place(text.program, id) == LineMemory::whole) return "{}";
    std::vector<std::string> texts;
    for (const Expr& stride : strides(text.program, id)) texts.push_back(text.expr(stride));
    texts.resize(LineSizes::most_axes, "0");
    return braced({braced(texts)});
  }

  // `passes`: how often the tensor is read or stored.
  KernelFigures traffic(int64_t passes, int64_t lds_bytes, double cache_cycles = 0) const {
    const std::optional<int64_t> elements = product(lines_.extents).constant();
    if (!elements) return {lds_bytes, planned_waves};
    const GpuEstimate estimate = estimate_memory(*elements * element_size_ * passes, gpu_, cache_cycles);
    return {lds_bytes, planned_waves, Expected{estimate.microseconds, onnxc::describe(estimate.bound)}};
  }

  Lines lines_;
  LinePlan plan_;
  int64_t element_size_;
  GpuMachine gpu_;
  std::string parts_;  // what is done to the launch's parts

 private:
  KernelOperands operands_;
};

class LineSpec : public LineSpecBase {
 public:
  using LineSpecBase::LineSpecBase;

  std::string describe() const override {
    const std::optional<int64_t> columns = lines_.columns().constant();
    return fmt::format("{} of lines{}", name(plan_.kind), columns ? fmt::format(" of {}", *columns) : "");
  }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return fmt::format("LineArguments<{}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output));
  }
  std::string function(const KernelCall& call, const Program& program) const override {
    return fmt::format("normalized_lines<{}>", plan_text_of(call, program));
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return line_arguments(call, text);
  }
  std::string blocks() const override { return plan_text(plan_) + ".blocks(arguments.call.sizes)"; }
  std::vector<std::string> coordinates(size_t) const override { return lines_.coordinates; }
  KernelFigures figures() const override { return traffic(plan_.always_fits() ? 2 : 3, plan_.lds_bytes(gpu_)); }
  bool is_softmax_of_last_axis() const {
    return lines_.kind == LineKind::softmax && lines_.line_axes == 1 &&
           static_cast<size_t>(lines_.outer_axes) + 1 == lines_.extents.size();
  }
  // With a block for each line of channels in blocks; null if it does not hold one.
  std::shared_ptr<LineSpec> with_line_a_block() const {
    if (!lines_.is_blocked || lines_.kind != LineKind::moments || plan_.columns == 0) return nullptr;
    auto result = std::make_shared<LineSpec>(*this);
    result->plan_ = line_a_block(plan_);
    return result->plan_.always_fits() ? result : nullptr;
  }
};

// Few long lines take three kernels: the statistics of their chunks, a fold of these if they are many, and the
// normalisation.
class LineChunkSpec : public LineSpecBase {
 public:
  LineChunkSpec(Lines lines, const LinePlan& plan, int64_t element_size, const GpuMachine& gpu, KernelOperands operands,
                int64_t common_lines)
      : LineSpecBase(std::move(lines), plan, element_size, gpu, std::move(operands)), common_lines_(common_lines) {}

  std::string describe() const override { return "moments of chunks of lines"; }
  std::string device_header() const override { return "kernels/hip/memory_bound/normalized_chunks.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return fmt::format("ChunkArguments<{}, {}>", c_type(program, call.inputs[0]), c_type(program, call.output));
  }
  std::string function(const KernelCall& call, const Program& program) const override {
    return fmt::format("partial_moments<{}>", plan_text_of(call, program));
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    const std::string offset = partial_offset_ == 0 ? "" : fmt::format(" + {}", partial_offset_);
    const std::string plan = plan_text(plan_), extents = sizes(text);
    return braced({line_arguments(call, text), text.pointer(*call.workspace) + offset,
                   fmt::format("{}.share({}, {})", plan, extents, common_lines_),
                   fmt::format("{0}.moment_folds({1}, {0}.launch({1}){2}.parts.divisor, {3}, planned_gpu)", plan,
                               extents, parts_, common_lines_)});
  }
  std::string blocks() const override { return plan_text(plan_) + ".part_blocks(arguments.call.lines.sizes)"; }
  std::vector<DeviceFunction> further(const KernelCall& call, const Program& program) const override {
    return last_launches(call, program, "arguments.call");
  }
  // Those after the statistics of the parts. If only a run knows how many there are it also finds whether they are
  // folded, and launches one of two last kernels.
  std::vector<DeviceFunction> last_launches(const KernelCall& call, const Program& program,
                                            const std::string& chunks) const {
    const std::string instance = plan_text_of(call, program), plan = plan_text(plan_);
    const std::optional<KnownParts> known = known_parts();
    std::vector<DeviceFunction> launches;
    if (!known || known->are_folded)
      launches.push_back({fmt::format("fold_moments<{}, {}>", instance, common_lines_),
                          fmt::format("{}.fold_blocks({})", plan, chunks), fold_figures(known)});
    for (const bool are_folded : {true, false})
      if (!known || known->are_folded == are_folded)
        launches.push_back({fmt::format("normalized_chunks<{}, {}, {}>", instance, common_lines_, are_folded),
                            fmt::format("{}.chunk_blocks({}, {})", plan, chunks, are_folded), last_figures(known)});
    return launches;
  }
  std::vector<std::string> coordinates(size_t) const override { return lines_.coordinates; }
  KernelFigures figures() const override { return traffic(1, plan_.lds_bytes(gpu_)); }
  // Null if lines are not of whole chunks, or not in blocks. Parts have another length if `columns` is not 0; the
  // statistics begin `offset` elements after the workspace.
  std::shared_ptr<LineChunkSpec> with_whole_chunks(int64_t columns, int64_t offset) const {
    const std::optional<int64_t> length = lines_.columns().constant();
    if (!lines_.is_blocked || !length || *length == 0 || *length % plan_.capacity() != 0) return nullptr;
    auto result = std::make_shared<LineChunkSpec>(*this);
    if (columns != 0) result->parts_ = fmt::format(".in_parts({})", columns);
    result->part_columns_ = columns;
    result->partial_offset_ = offset;
    return result;
  }

 private:
  struct KnownParts {
    LineSizes sizes;
    int64_t parts;  // of a line
    bool are_folded;
  };
  std::optional<KnownParts> known_parts() const {
    LineSizes sizes{};
    for (size_t i = 0; i < LineSizes::most_axes; ++i) {
      const std::optional<int64_t> extent = i < lines_.extents.size() ? lines_.extents[i].constant() : 1;
      if (!extent) return std::nullopt;
      sizes.extents[i] = *extent;
    }
    const int64_t parts =
        part_columns_ == 0 ? plan_.parts(sizes) : kernels::divide_up(plan_.line_columns(sizes), part_columns_);
    return KnownParts{sizes, parts,
                      plan_.moment_folds(sizes, std::max(parts, int64_t{1}), common_lines_, gpu_).parts > 0};
  }
  KernelFigures fold_figures(const std::optional<KnownParts>& known) const {
    if (!known) return {plan_.lds_bytes(gpu_), planned_waves};
    const int64_t bytes = plan_.outer(known->sizes) * known->parts * kernels::partial_values * plan_.lanes * 4;
    const GpuEstimate estimate = estimate_memory(bytes, gpu_);
    return {plan_.lds_bytes(gpu_), planned_waves, Expected{estimate.microseconds, onnxc::describe(estimate.bound)}};
  }
  // Every block reads the statistics of all parts of its lines.
  KernelFigures last_figures(const std::optional<KnownParts>& known) const {
    if (!known) return traffic(2, plan_.lds_bytes(gpu_));
    const double cycles =
        known->are_folded
            ? plan_.moment_cycles(known->sizes, kernels::most_folds, kernels::folded_values, gpu_)
            : plan_.moment_cycles(known->sizes, known->parts * common_lines_, kernels::partial_values, gpu_);
    return traffic(2, plan_.lds_bytes(gpu_), cycles);
  }

  int64_t common_lines_;  // with the same statistics
  int64_t partial_offset_ = 0;
  int64_t part_columns_ = 0;  // of a part; 0: its own
};

int64_t larger_size(DType a, DType b) { return std::max(element_size(a), element_size(b)); }

void emit_lines(const Node& node, Lines lines, const Layout& layout, Epilogue epilogue, const GpuMachine& gpu,
                LoweringContext& context) {
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  const int64_t element_size = larger_size(input.dtype, output.dtype);
  KernelCall call;
  call.inputs = {context.buffer_as(input, layout, node.origin)};
  call.epilogue = std::move(epilogue);
  const LinePlan plan = choose_lines(shape_of(lines, context.program(), element_size), gpu);
  KernelOperands operands{{whole_operand(*input.shape, {layout})}, whole_operand(*output.shape, {layout})};
  call.spec = std::make_shared<LineSpec>(std::move(lines), plan, element_size, gpu, std::move(operands));
  context.emit_kernel(std::move(call), output, layout, node.origin);
}

// For a row-major tensor, the axes from `first` to `end` being normalised together.
Lines row_major_lines(LineKind kind, const Shape& shape, size_t first, size_t end) {
  Lines lines{.kind = kind,
              .extents = shape,
              .outer_axes = static_cast<int>(first),
              .line_axes = static_cast<int>(end - first),
              .coordinates = {}};
  lines.coordinates.assign(index_names, index_names + shape.size());
  return lines;
}

// ------------------------------------------------------------------------------------------- softmax

void lower_softmax(const Node& node, const SoftmaxSpec& spec, const GpuMachine& gpu, LoweringContext& context) {
  const Shape& shape = *node.inputs[0]->shape;
  Lines lines = row_major_lines(kind_of(spec), shape, spec.first_axis, spec.end_axis);
  emit_lines(node, std::move(lines), Layout::row_major(shape.size()), plain_epilogue(*node.outputs[0]), gpu, context);
}

// ------------------------------------------------------------------------------------------- over the last axes

// The accumulator times the scale, and plus the shift if there is one.
Epilogue scaled_epilogue(const Node& node, LoweringContext& context,
                         const std::function<std::vector<Expr>(const Operand&, const std::vector<Expr>&)>& place) {
  Epilogue epilogue = plain_epilogue(*node.outputs[0]);
  std::vector<Expr> indices;
  for (const Axis& axis : epilogue.axes) indices.emplace_back(axis.symbol);
  auto parameter = [&](size_t input) {
    const Value& value = *node.inputs[input];
    const Layout layout = Layout::row_major(value.shape->size());
    const Operand operand{context.buffer_as(value, layout, node.origin), value.dtype, *value.shape};
    return scalar::cast(DType::float32, operand(place(operand, indices)));
  };
  Scalar value = scalar::accumulator(DType::float32, 0) * parameter(1);
  if (NodeReader(node).has_input(2)) value = value + parameter(2);
  epilogue.value = scalar::cast(node.outputs[0]->dtype, value);
  return epilogue;
}

void lower_last_axes(const Node& node, const LayerNormalizationSpec& spec, const GpuMachine& gpu,
                     LoweringContext& context) {
  const Shape& shape = *node.inputs[0]->shape;
  Lines lines = row_major_lines(kind_of(spec), shape, spec.first_axis, shape.size());
  lines.epsilon = spec.epsilon;
  auto broadcast = [](const Operand& operand, const std::vector<Expr>& i) { return operand.broadcast_indices(i); };
  emit_lines(node, std::move(lines), Layout::row_major(shape.size()), scaled_epilogue(node, context, broadcast), gpu,
             context);
}

// ------------------------------------------------------------------------------------------- by instance

struct InstanceLines {
  Lines lines;
  bool is_one_kernel;  // it can put groups together; else they are read in chunks
};

// Each channel's voxels in blocks of channels; the lanes of a group may be put together.
InstanceLines blocked_lines(const Shape& shape, const Expr& groups) {
  InstanceLines result{{.kind = LineKind::moments,
                        .extents = {shape[0], ceil_div(shape[1], block_channels)},
                        .outer_axes = 2,
                        .line_axes = static_cast<int>(shape.size() - 2),
                        .channels = shape[1],
                        .is_blocked = true,
                        .coordinates = {}},
                       false};
  Lines& lines = result.lines;
  lines.extents.insert(lines.extents.end(), shape.begin() + 2, shape.end());
  lines.extents.emplace_back(block_channels);
  lines.coordinates = {"n", fmt::format("(g * {} + {})", block_channels, index_names[lines.extents.size() - 1])};
  for (size_t i = 2; i < shape.size(); ++i) lines.coordinates.emplace_back(index_names[i]);
  const int64_t lanes = floor_div(shape[1], groups).constant().value();
  result.is_one_kernel = block_channels % lanes == 0;
  if (result.is_one_kernel) lines.group_lanes = lanes;
  return result;
}

// Groups of channels, which lie next to each other.
InstanceLines planar_lines(const Shape& shape, const Expr& groups) {
  const Expr channels = floor_div(shape[1], groups);
  Shape extents = {shape[0], groups, channels};
  extents.insert(extents.end(), shape.begin() + 2, shape.end());
  InstanceLines result{row_major_lines(LineKind::moments, extents, 2, extents.size()), true};
  std::vector<std::string>& coordinates = result.lines.coordinates;
  coordinates[1] = fmt::format("(g * {} + c)", channels.constant().value());
  coordinates.erase(coordinates.begin() + 2);
  return result;
}

void lower_long_lines(const Node& node, Lines lines, const LineShape& shape, int64_t common_lines, const Layout& layout,
                      Epilogue epilogue, const GpuMachine& gpu, LoweringContext& context) {
  const LinePlan plan = choose_chunks(shape, gpu);
  lines.group_lanes = 1;
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  KernelCall call;
  call.inputs = {context.buffer_as(input, layout, node.origin)};
  call.epilogue = std::move(epilogue);
  call.workspace = add_temporary(
      context.program(), input.name + ".partial",
      {lines.outer(), min(ceil_div(lines.columns(), plan.capacity()), plan.most_parts()) + kernels::folded_parts,
       kernels::partial_values, lines.inner()});
  KernelOperands operands{{whole_operand(*input.shape, {layout})}, whole_operand(*output.shape, {layout})};
  call.spec = std::make_shared<LineChunkSpec>(std::move(lines), plan, shape.element_size, gpu, std::move(operands),
                                              common_lines);
  context.emit_kernel(std::move(call), output, layout, node.origin);
}

// In blocks or row-major, as the input is.
void lower_instances(const Node& node, const InstanceNormalizationSpec& spec, const GpuMachine& gpu,
                     LoweringContext& context) {
  const Value& value = *node.inputs[0];
  const Shape& shape = *value.shape;
  const BufferId input = context.buffer(value);
  const Layout layout = context.program().buffer(input).layout;
  const bool is_blocked = layout == Layout::channel_blocked(shape.size(), block_channels);
  internal_check(is_blocked || layout.is_row_major(), "a layout of this target");
  const Expr& groups = spec.groups;
  InstanceLines instances = is_blocked ? blocked_lines(shape, groups) : planar_lines(shape, groups);
  instances.lines.is_by_instance = true;
  instances.lines.epsilon = spec.epsilon;
  const LineShape line_shape =
      shape_of(instances.lines, context.program(), larger_size(value.dtype, node.outputs[0]->dtype));
  auto channel = [](const Operand&, const std::vector<Expr>& i) { return std::vector<Expr>{i[1]}; };
  Epilogue epilogue = scaled_epilogue(node, context, channel);
  if (!instances.is_one_kernel || are_few_and_long(line_shape, gpu))
    return lower_long_lines(node, std::move(instances.lines), line_shape,
                            is_blocked ? spec.channels_per_group().constant().value() : 1, layout, std::move(epilogue),
                            gpu, context);
  emit_lines(node, std::move(instances.lines), layout, std::move(epilogue), gpu, context);
}

// Whether the kernels have the types of a node's first input and output.
bool has_kernel_types(const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == nullptr || node.outputs.empty() || node.outputs[0] == nullptr)
    return false;
  return is_kernel_type(node.inputs[0]->dtype) && is_kernel_type(node.outputs[0]->dtype);
}

bool has_axes_for_lines(const Node& node) {
  const size_t rank = node.inputs[0]->shape->size();
  return rank > 0 && rank <= LineSizes::most_axes;
}

// A block takes some 0.5 ns for an element of its line, the five kernels of the definition some 10 us together.
constexpr double long_line = 32768, few_lines = 16;

bool has_few_long_lines(const Shape& shape, const SoftmaxSpec& spec) {
  double lines = 1, columns = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::optional<int64_t> extent = shape[i].constant();
    if (!extent) return false;
    (i >= spec.first_axis && i < spec.end_axis ? columns : lines) *= static_cast<double>(*extent);
  }
  return columns >= long_line && lines <= few_lines;
}

}  // namespace

bool is_softmax_over_last_axis(const KernelCall& call) {
  const auto* spec = dynamic_cast<const LineSpec*>(call.spec.get());
  if (spec == nullptr || !spec->is_softmax_of_last_axis()) return false;
  const Scalar& value = call.epilogue.value;
  return value->op == ScalarOp::accumulator ||
         (value->op == ScalarOp::cast && value->operands[0]->op == ScalarOp::accumulator);
}

std::shared_ptr<const HipKernelSpec> lines_of_blocks(const KernelCall& call) {
  const auto* spec = dynamic_cast<const LineSpec*>(call.spec.get());
  return spec == nullptr ? nullptr : spec->with_line_a_block();
}

std::string line_plan_text(const HipKernelSpec& spec, const KernelCall& call, const Program& program) {
  return dynamic_cast<const LineSpecBase&>(spec).plan_text_of(call, program);
}

int64_t held_elements(const HipKernelSpec& spec) { return dynamic_cast<const LineSpecBase&>(spec).plan().held; }

std::shared_ptr<const HipKernelSpec> lines_of_chunks(const KernelCall& call, int64_t columns, int64_t offset) {
  const auto* spec = dynamic_cast<const LineChunkSpec*>(call.spec.get());
  return spec == nullptr ? nullptr : spec->with_whole_chunks(columns, offset);
}

std::vector<DeviceFunction> last_launches(const HipKernelSpec& spec, const KernelCall& call, const Program& program,
                                          const std::string& chunks) {
  return dynamic_cast<const LineChunkSpec&>(spec).last_launches(call, program, chunks);
}

// Softmax and LogSoftmax; not of a few long lines, whose definition is reductions that many blocks share.
void offer_softmax(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_softmax(node) || !has_kernel_types(node) || !has_axes_for_lines(node)) return;
  const SoftmaxSpec spec = resolve_softmax(NodeReader(node));
  if (has_few_long_lines(*node.inputs[0]->shape, spec)) return;
  offers.push_back(
      {.kernel = name(kind_of(spec)),
       .gives = LayoutDemand::rows,
       .lower = [&node, spec, gpu](LoweringContext& context) { lower_softmax(node, spec, gpu, context); }});
}

// LayerNormalization and RMSNormalization, unless their statistics are outputs as well.
void offer_layer_normalization(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_layer_normalization(node) || !has_kernel_types(node) || !has_axes_for_lines(node)) return;
  const NodeReader reader(node);
  if (reader.has_output(1) || reader.has_output(2)) return;
  const LayerNormalizationSpec spec = resolve_layer_normalization(reader);
  if (!std::isfinite(spec.epsilon)) return;
  offers.push_back(
      {.kernel = name(kind_of(spec)),
       .gives = LayoutDemand::rows,
       .lower = [&node, spec, gpu](LoweringContext& context) { lower_last_axes(node, spec, gpu, context); }});
}

// InstanceNormalization and GroupNormalization.
void offer_instance_normalization(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_instance_normalization(node) || !has_kernel_types(node) || !is_within_rank(*node.inputs[0])) return;
  const InstanceNormalizationSpec spec = resolve_instance_normalization(NodeReader(node));
  if (spec.has_parameters_by_group || !std::isfinite(spec.epsilon)) return;
  if (spec.channels_per_group().constant().value_or(0) <= 0) return;
  offers.push_back(
      {.kernel = name(LineKind::moments),
       .gives = LayoutDemand::none,
       .lower = [&node, spec, gpu](LoweringContext& context) { lower_instances(node, spec, gpu, context); }});
}

}  // namespace onnxc
