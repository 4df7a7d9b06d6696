#include "codegen/hip/fused/normalized_product.h"

#include "codegen/call/kernel_call.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_call.h"
#include "codegen/hip/memory_bound/row_kernel.h"
#include "ir/loops/rounding.h"

namespace onnxc {
namespace {

// A thread loads the parts of its elements some at a time: with more loads the few blocks of the second kernel would
// take longer than a launch.
constexpr int64_t most_loads = 512;
// A product of few steps is bound by the vector unit, which has the statistics to compute as well; to read so many
// elements again, of 16 bits, costs less than what a launch more does.
constexpr int64_t few_steps = 4, most_elements = int64_t{1} << 24;

// What both forms have in common.
class NormalizedProductSpec : public HipKernelSpec {
 public:
  NormalizedProductSpec(const KernelCall& product, std::shared_ptr<const HipKernelSpec> rows)
      : product_(std::dynamic_pointer_cast<const HipKernelSpec>(product.spec)),
        rows_(std::move(rows)),
        plan_(gemm_plan_text(product)) {}

  std::string describe() const override { return product_->describe() + ", normalized"; }
  bool accepts_views() const override { return rows_->accepts_views(); }
  KernelOperands operands() const override { return {product_->operands().inputs, rows_->operands().output}; }
  std::vector<std::string> coordinates(size_t rank) const override { return rows_->coordinates(rank); }
  KernelFigures figures() const override { return product_->figures(); }
  std::string blocks() const override { return plan_ + ".blocks_of(arguments.call.product)"; }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({product_->arguments(product_of(call), text), rows_->arguments(rows_of(call), text)});
  }

 protected:
  // The calls that it is made of; what lies between them is in `between`.
  virtual BufferId between(const KernelCall& call) const = 0;
  KernelCall product_of(const KernelCall& call) const {
    KernelCall product;
    product.inputs = call.inputs;
    product.output = between(call);
    return product;
  }
  KernelCall rows_of(const KernelCall& call) const {
    KernelCall rows;
    rows.inputs = {between(call)};
    rows.output = call.output;
    rows.workspace = call.workspace;
    return rows;
  }
  std::string type_of(const char* structure, const KernelCall& call, const Program& program) const {
    return fmt::format("{}<{}, {}, {}>", structure, c_type(program, call.inputs[0]), c_type(program, call.inputs[1]),
                       c_type(program, call.output));
  }

  std::shared_ptr<const HipKernelSpec> product_, rows_;
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
  std::optional<DeviceFunction> second(const KernelCall& call, const Program& program) const override {
    const std::string plan = row_plan_text(*rows_, rows_of(call), program);
    return DeviceFunction{fmt::format("normalized_parts<{}>", plan), plan + ".blocks(arguments.call.rows.sizes)"};
  }
  // The second kernel computes the product's elements.
  std::vector<std::string> inner_coordinates(size_t rank) const override { return coordinates(rank); }

 protected:
  BufferId between(const KernelCall& call) const override { return *call.workspace; }
};

// The result of the product lies where it is normalised, its moments in the workspace.
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
  std::optional<DeviceFunction> second(const KernelCall& call, const Program& program) const override {
    return normalized_product(*rows_, rows_of(call), program);
  }
  std::vector<std::string> inner_coordinates(size_t rank) const override { return product_->coordinates(rank); }

 protected:
  BufferId between(const KernelCall& call) const override { return call.output; }
};

// The parts one after the other, each like the tensor between the two calls.
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

// The tensor between is the same, in memory and type, as the one that is stored.
bool may_normalize_in_place(const Program& program, const KernelCall& product, const KernelCall& rows) {
  const kernels::GemmPlan& plan = chosen_plan(product);
  const Buffer &between = program.buffer(product.output), &output = program.buffer(rows.output);
  if (plan.steps() < few_steps && between.layout.element_count(between.shape).constant().value_or(0) > most_elements)
    return false;
  return plan.shape.groups == 1 && !plan.transposed && !plan.matrix_product && between.dtype == output.dtype &&
         between.layout == output.layout;
}

}  // namespace

std::optional<KernelCall> normalized_product_call(Program& program, const KernelCall& product, const KernelCall& rows) {
  const GemmOperation* const operation = find_gemm(product);
  if (operation == nullptr) return std::nullopt;
  const GemmSizes given = operation->sizes(program);
  if (!given.are_known) return std::nullopt;
  const kernels::GemmPlan& plan = chosen_plan(product);
  const int64_t parts = plan.parts(given.sizes);

  KernelCall call;
  call.inputs = product.inputs;
  call.output = rows.output;
  call.inner_epilogue = product.epilogue;
  call.inner_epilogue.value = without_rounding(product.epilogue.value);
  call.epilogue = rows.epilogue;
  if (parts > 1) {
    std::shared_ptr<const HipKernelSpec> of_rows = rows_of_blocks(rows);
    if (of_rows == nullptr || parts * held_elements(*of_rows) > most_loads) return std::nullopt;
    call.workspace = program.add(buffer_of_parts(program, product, parts));
    call.spec = std::make_shared<NormalizedPartsSpec>(product, std::move(of_rows));
    return call;
  }
  std::shared_ptr<const HipKernelSpec> of_rows = rows_of_parts(rows, plan.tile.rows);
  if (of_rows == nullptr || !may_normalize_in_place(program, product, rows)) return std::nullopt;
  Buffer moments = program.buffer(*rows.workspace);
  moments.shape[1] = kernels::divide_up(plan.grid(given.sizes.output).product(), plan.tile.rows);
  call.workspace = program.add(std::move(moments));
  call.spec = std::make_shared<ProductMomentsSpec>(product, std::move(of_rows));
  return call;
}

}  // namespace onnxc
