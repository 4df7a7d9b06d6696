#include "codegen/hip/fused/normalized_product.h"

#include "codegen/call/kernel_call.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_call.h"
#include "codegen/hip/memory_bound/line_kernel.h"
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

// The common parts of both forms.
class NormalizedProductSpec : public HipKernelSpec {
 public:
  NormalizedProductSpec(const KernelCall& product, std::shared_ptr<const HipKernelSpec> lines)
      : product_(std::dynamic_pointer_cast<const HipKernelSpec>(product.spec)),
        lines_(std::move(lines)),
        plan_(gemm_plan_text(product)) {}

  std::string describe() const override { return product_->describe() + ", normalized"; }
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

  std::shared_ptr<const HipKernelSpec> product_, lines_;
  std::string plan_;
};

// The parts lie in the workspace.
class NormalizedPartsSpec : public NormalizedProductSpec {
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
    const std::string plan = line_plan_text(*lines_, lines_of(call), program);
    return {{fmt::format("normalized_parts<{}>", plan), plan + ".blocks(arguments.call.lines.sizes)"}};
  }
  // The second kernel computes the product's elements.
  std::vector<std::string> inner_coordinates(size_t rank) const override { return coordinates(rank); }

 protected:
  BufferId stored(const KernelCall& call) const override { return *call.workspace; }
};

// The result of the product lies in the place of the normalised one, its moments in the workspace.
class ProductMomentsSpec : public NormalizedProductSpec {
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
    return last_launches(*lines_, lines_of(call), program, "arguments.call.lines");
  }
  std::vector<std::string> inner_coordinates(size_t rank) const override { return product_->coordinates(rank); }

 protected:
  BufferId stored(const KernelCall& call) const override { return call.output; }
};

// The parts lie in the workspace, followed by the moments; their sum lies in the place of the normalised result.
class MomentsOfPartsSpec : public NormalizedProductSpec {
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
    const std::string plan = line_plan_text(*lines_, lines_of(call), program);
    std::vector<DeviceFunction> launches = last_launches(*lines_, lines_of(call), program, "arguments.call.lines");
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

bool may_have_moments(const kernels::GemmPlan& plan, int64_t elements) {
  if (plan.steps() < few_steps && elements > most_elements) return false;
  return plan.shape.groups == 1 && !plan.transposed && !plan.matrix_product;
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

std::optional<KernelCall> sum_parts(Program& program, const KernelCall& product, const KernelCall& lines,
                                    int64_t parts) {
  KernelCall call = joined(product, lines);
  if (std::shared_ptr<const HipKernelSpec> whole = lines_of_blocks(lines)) {
    if (parts * held_elements(*whole) > most_loads) return std::nullopt;
    call.workspace = program.add(buffer_of_parts(program, product, parts));
    call.spec = std::make_shared<NormalizedPartsSpec>(product, std::move(whole));
    return call;
  }
  // Room for the moments, which are fewer than the elements, as of one part more.
  Buffer workspace = buffer_of_parts(program, product, parts + 1);
  const int64_t offset = elements_of(workspace) / (parts + 1) * parts;
  std::shared_ptr<const HipKernelSpec> chunks = lines_of_chunks(lines, 0, offset);
  if (chunks == nullptr || parts * held_elements(*chunks) > most_loads) return std::nullopt;
  if (!may_normalize_in_place(program, product, lines)) return std::nullopt;
  if (elements_of(program.buffer(*lines.workspace)) > offset / parts) return std::nullopt;
  call.workspace = program.add(std::move(workspace));
  call.spec = std::make_shared<MomentsOfPartsSpec>(product, std::move(chunks));
  return call;
}

}  // namespace

std::optional<KernelCall> normalized_product_call(Program& program, const KernelCall& product, const KernelCall& lines,
                                                  const machine::GpuMachine& gpu) {
  const GemmOperation* const operation = find_gemm(product);
  if (operation == nullptr) return std::nullopt;
  const GemmSizes given = operation->sizes(program);
  if (!given.are_known) return std::nullopt;
  const kernels::GemmPlan& plan = chosen_plan(product);
  const int64_t parts = plan.parts(given.sizes, gpu);
  if (parts > 1) return sum_parts(program, product, lines, parts);
  std::shared_ptr<const HipKernelSpec> chunks = lines_of_chunks(lines, plan.tile.rows, 0);
  if (chunks == nullptr || !may_normalize_in_place(program, product, lines)) return std::nullopt;
  if (!may_have_moments(plan, elements_of(program.buffer(product.output)))) return std::nullopt;
  KernelCall call = joined(product, lines);
  Buffer moments = program.buffer(*lines.workspace);
  moments.shape[1] =
      kernels::divide_up(plan.grid(given.sizes.output).product(), plan.tile.rows) + kernels::folded_parts;
  call.workspace = program.add(std::move(moments));
  call.spec = std::make_shared<ProductMomentsSpec>(product, std::move(chunks));
  return call;
}

}  // namespace onnxc
