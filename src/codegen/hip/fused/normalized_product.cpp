#include "codegen/hip/fused/normalized_product.h"

#include "codegen/call/kernel_call.h"
#include "codegen/call/typed_call.h"
#include "codegen/hip/gemm/gemm_spec.h"
#include "codegen/hip/memory_bound/line_spec.h"
#include "ir/loops/rounding.h"
#include "kernels/hip/memory_bound/line_geometry.h"

namespace onnxc {
namespace {

// A thread loads the parts of its elements some at a time: with more loads the few blocks of the second kernel would
// take longer than a launch.
constexpr int64_t most_loads = 512;
// A product of few steps is bound by the vector unit, which has the statistics to compute as well; to read so many
// elements again, of 16 bits, costs less than what a launch more does.
constexpr int64_t few_steps = 4, most_elements = int64_t{1} << 24;

// The common part of all forms.
template <class NormalizedSpec>
class NormalizedProductSpec : public HipKernelSpec {
 public:
  NormalizedProductSpec(std::shared_ptr<const GemmSpec> product, std::shared_ptr<const NormalizedSpec> lines)
      : product_(std::move(product)), lines_(std::move(lines)), plan_(plan_text(product_->plan())) {}

  std::string describe() const override { return product_->describe() + ", normalized"; }
  // The product may be stored in the place of the result before the epilogue loads.
  bool may_replace_operand() const override { return false; }
  bool accepts_views() const override { return lines_->accepts_views(); }
  KernelOperands operands() const override { return {product_->operands().inputs, lines_->operands().output}; }
  std::vector<std::string> coordinates(size_t rank) const override { return lines_->coordinates(rank); }
  KernelFigures figures() const override { return product_->figures(); }
  std::string blocks() const override { return plan_ + ".blocks_of(arguments.call.product, planned_gpu)"; }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({product_->arguments(product_of(call), text), lines_->arguments(lines_of(call), text)});
  }

 protected:
  // The calls that it is made of; the product stores to `stored`, and lines are read from `read`.
  virtual BufferId stored(const KernelCall& call) const = 0;
  virtual BufferId read(const KernelCall& call) const { return stored(call); }
  KernelCall product_of(const KernelCall& call) const {
    KernelCall product;
    product.inputs = call.inputs;
    product.output = stored(call);
    return product;
  }
  KernelCall lines_of(const KernelCall& call) const {
    KernelCall lines;
    lines.inputs = {read(call)};
    lines.output = call.output;
    lines.workspace = call.workspace;
    return lines;
  }
  std::string type_of(const char* structure, const KernelCall& call, const Program& program) const {
    return fmt::format("{}<{}, {}, {}>", structure, c_type(program, call.inputs[0]), c_type(program, call.inputs[1]),
                       c_type(program, call.output));
  }

  std::shared_ptr<const GemmSpec> product_;
  std::shared_ptr<const NormalizedSpec> lines_;
  std::string plan_;
};

// The parts lie in the workspace.
class NormalizedPartsSpec : public NormalizedProductSpec<LineSpec> {
 public:
  using NormalizedProductSpec::NormalizedProductSpec;

  std::string device_header() const override { return "kernels/hip/fused/normalized_parts.h"; }
  std::string host_header() const override { return "kernels/hip/fused/normalized_parts_geometry.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return type_of("NormalizedPartsArguments", call, program);
  }
  std::string function(const KernelCall&, const Program&) const override {
    return fmt::format("product_parts<{}>", plan_);
  }
  std::vector<DeviceFunction> further(const KernelCall& call, const Program& program) const override {
    const std::string plan = lines_->plan_text_of(lines_of(call), program);
    return {{fmt::format("normalized_parts<{}>", plan), plan + ".blocks(arguments.call.lines.sizes)"}};
  }
  // The second kernel computes the product's elements.
  std::vector<std::string> inner_coordinates(size_t rank) const override { return coordinates(rank); }

 protected:
  BufferId stored(const KernelCall& call) const override { return *call.workspace; }
};

// The result of the product lies in the place of the normalised one, its moments in the workspace.
class ProductMomentsSpec : public NormalizedProductSpec<LineChunkSpec> {
 public:
  using NormalizedProductSpec::NormalizedProductSpec;

  std::string device_header() const override { return "kernels/hip/fused/product_moments.h"; }
  std::string host_header() const override { return "kernels/hip/fused/product_moments_geometry.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return type_of("ProductMomentsArguments", call, program);
  }
  std::string function(const KernelCall&, const Program&) const override {
    return fmt::format("product_moments<{}>", plan_);
  }
  std::vector<DeviceFunction> further(const KernelCall& call, const Program& program) const override {
    return lines_->last_launches(lines_of(call), program, "arguments.call.lines");
  }
  std::vector<std::string> inner_coordinates(size_t rank) const override { return product_->coordinates(rank); }

 protected:
  BufferId stored(const KernelCall& call) const override { return call.output; }
};

// The parts lie in the workspace, followed by the moments; their sum lies in the place of the normalised result.
class MomentsOfPartsSpec : public NormalizedProductSpec<LineChunkSpec> {
 public:
  using NormalizedProductSpec::NormalizedProductSpec;

  std::string device_header() const override { return "kernels/hip/fused/moments_of_parts.h"; }
  std::string host_header() const override { return "kernels/hip/fused/moments_of_parts_geometry.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override {
    return type_of("MomentsOfPartsArguments", call, program);
  }
  std::string function(const KernelCall&, const Program&) const override {
    return fmt::format("product_parts<{}>", plan_);
  }
  std::vector<DeviceFunction> further(const KernelCall& call, const Program& program) const override {
    const std::string plan = lines_->plan_text_of(lines_of(call), program);
    std::vector<DeviceFunction> launches = lines_->last_launches(lines_of(call), program, "arguments.call.lines");
    launches.insert(launches.begin(), {fmt::format("moments_of_parts<{}>", plan),
                                       plan + ".part_blocks(arguments.call.lines.lines.sizes)"});
    return launches;
  }
  // The second kernel computes the product's elements.
  std::vector<std::string> inner_coordinates(size_t rank) const override { return coordinates(rank); }

 protected:
  BufferId stored(const KernelCall& call) const override { return *call.workspace; }
  BufferId read(const KernelCall& call) const override { return call.output; }
};

// Float32 tensors like the one between the two calls, one after the other.
Buffer buffer_of_parts(const Program& program, const KernelCall& product, int64_t parts) {
  const Buffer& between = program.buffer(product.output);
  Buffer result;
  result.name = between.name + " in parts";
  result.dtype = DType::float32;
  result.shape = between.shape;
  result.shape[0] *= parts;
  result.layout = between.layout;
  return result;
}

int64_t elements_of(const Buffer& buffer) { return buffer.layout.element_count(buffer.shape).constant().value(); }

// The tensor between is the same, in layout and type, as the one that is stored.
bool may_normalize_in_place(const Program& program, const KernelCall& product, const KernelCall& lines) {
  const Buffer &between = program.buffer(product.output), &output = program.buffer(lines.output);
  return between.dtype == output.dtype && between.layout == output.layout;
}

// The computation of the two calls, by a kernel that is not known yet.
KernelCall joined(const KernelCall& product, const KernelCall& lines) {
  KernelCall call;
  call.inputs = product.inputs;
  call.output = lines.output;
  call.inner_epilogue = product.epilogue;
  call.inner_epilogue.value = without_rounding(product.epilogue.value);
  call.epilogue = lines.epilogue;
  return call;
}

// The kernel that has both.
enum class Form : uint8_t { parts, moments, moments_of_parts };
struct JoinedPlan {
  Form form;
  kernels::ConvSizes sizes;
  int64_t parts;  // of the product
};

bool may_have_moments(const kernels::GemmPlan& plan, const kernels::Axes& output, int64_t elements) {
  // Every part has the same number of voxels, but for the last one.
  if (plan.has_halo() && plan.row_tiles(output).product() * plan.tile.rows != output.product()) return false;
  if (plan.steps() < few_steps && elements > most_elements) return false;
  return plan.shape.groups == 1 && !plan.transposed && !plan.matrix_product;
}

std::optional<Form> form_of(const PlannedGemm& product, const PlannedLines& lines, const kernels::Axes& output,
                            int64_t parts) {
  if (!lines.is_in_chunks()) {
    const std::optional<LinePlan> whole = plan_with_line_a_block(lines);
    return parts > 1 && whole && parts * whole->held <= most_loads ? std::optional(Form::parts) : std::nullopt;
  }
  if (!has_whole_chunks(lines)) return std::nullopt;
  if (parts > 1) return parts * lines.plan.held <= most_loads ? std::optional(Form::moments_of_parts) : std::nullopt;
  const std::optional<int64_t> elements = onnxc::product(lines.lines.extents).constant();
  return elements && may_have_moments(product.choice.plan, output, *elements) ? std::optional(Form::moments)
                                                                              : std::nullopt;
}

// Nothing if no kernel has both, as far as their plans tell: the sizes are known.
std::optional<JoinedPlan> join(const PlannedGemm& product, const PlannedLines& lines, const GpuMachine& gpu) {
  const std::optional<kernels::ConvSizes> sizes = product.operation.known_sizes();
  // Moments are of floats, as they leave the product.
  if (!sizes || kernels::is_bytes(product.choice.plan.products)) return std::nullopt;
  const int64_t parts = product.choice.plan.parts(*sizes, gpu);
  const std::optional<Form> form = form_of(product, lines, sizes->output, parts);
  return form ? std::optional(JoinedPlan{*form, *sizes, parts}) : std::nullopt;
}

// The last of two kernels adds the parts of its lines, which it holds.
std::optional<KernelCall> normalize_parts(Program& program, const TypedCall<GemmSpec>& product,
                                          const TypedCall<LineSpec>& lines, const GpuMachine& gpu) {
  const std::optional<JoinedPlan> plan = join(product.spec.planned(), lines.spec.planned(), gpu);
  if (!plan) return std::nullopt;
  KernelCall call = joined(product.call, lines.call);
  call.workspace = program.add(buffer_of_parts(program, product.call, plan->parts));
  call.spec = std::make_shared<NormalizedPartsSpec>(
      product.shared_spec(), lines.spec.with_plan(plan_with_line_a_block(lines.spec.planned()).value()));
  return call;
}

std::optional<KernelCall> sum_parts(Program& program, const TypedCall<GemmSpec>& product,
                                    const TypedCall<LineChunkSpec>& lines, int64_t parts) {
  // Room for the moments, which are fewer than the elements, as of one part more.
  Buffer workspace = buffer_of_parts(program, product.call, parts + 1);
  const int64_t offset = elements_of(workspace) / (parts + 1) * parts;
  if (elements_of(program.buffer(*lines.call.workspace)) > offset / parts) return std::nullopt;
  KernelCall call = joined(product.call, lines.call);
  call.workspace = program.add(std::move(workspace));
  call.spec = std::make_shared<MomentsOfPartsSpec>(product.shared_spec(), lines.spec.with_parts(0, offset));
  return call;
}

// Lines in chunks after a product in parts, or in tiles that have the statistics of their voxels.
std::optional<KernelCall> normalize_chunks(Program& program, const TypedCall<GemmSpec>& product,
                                           const TypedCall<LineChunkSpec>& lines, const GpuMachine& gpu) {
  const std::optional<JoinedPlan> joint = join(product.spec.planned(), lines.spec.planned(), gpu);
  if (!joint || !may_normalize_in_place(program, product.call, lines.call)) return std::nullopt;
  if (joint->form == Form::moments_of_parts) return sum_parts(program, product, lines, joint->parts);
  const kernels::GemmPlan& plan = product.spec.plan();
  KernelCall call = joined(product.call, lines.call);
  Buffer moments = program.buffer(*lines.call.workspace);
  moments.shape[1] = plan.row_tiles(joint->sizes.output).product() + kernels::folded_parts;
  call.workspace = program.add(std::move(moments));
  call.spec = std::make_shared<ProductMomentsSpec>(product.shared_spec(), lines.spec.with_parts(plan.tile.rows, 0));
  return call;
}

// All forms save a launch, and what it reads again. `in_chunks`: whether the lines are.
std::function<double(const Offer&, const Offer&)> saving_of(bool in_chunks, const GpuMachine& gpu) {
  return [in_chunks, gpu](const Offer& first, const Offer& second) {
    const auto* const product = std::any_cast<PlannedGemm>(&first.plan);
    const auto* const lines = std::any_cast<PlannedLines>(&second.plan);
    if (product == nullptr || lines == nullptr || lines->is_in_chunks() != in_chunks) return 0.0;
    return join(*product, *lines, gpu) ? least_launch_microseconds(gpu) : 0.0;
  };
}

Fusion with_saving(Fusion fusion, std::function<double(const Offer&, const Offer&)> saving) {
  fusion.saving = std::move(saving);
  return fusion;
}

}  // namespace

Fusion normalized_product_fusion(const GpuMachine& gpu) {
  return with_saving(fusion_of<GemmSpec, LineSpec>("normalized_product",
                                                   [gpu](Program& program, const auto& product, const auto& lines) {
                                                     return normalize_parts(program, product, lines, gpu);
                                                   }),
                     saving_of(false, gpu));
}

Fusion chunked_product_fusion(const GpuMachine& gpu) {
  return with_saving(
      fusion_of<GemmSpec, LineChunkSpec>("chunked_product",
                                         [gpu](Program& program, const auto& product, const auto& lines) {
                                           return normalize_chunks(program, product, lines, gpu);
                                         }),
      saving_of(true, gpu));
}

}  // namespace onnxc
