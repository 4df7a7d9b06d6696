#include "codegen/cpu/memory_bound/channel_moments.h"

#include "kernels/cpu/memory_bound/channel_moments_geometry.h"

namespace onnxc {
namespace {

constexpr const char* header_path = "kernels/cpu/memory_bound/channel_moments.h";

// The sizes of MomentsSizes, and what the kernels have in common.
class MomentsSpec : public CpuKernelSpec {
 public:
  MomentsSpec(const Buffer& input, Expr groups, KernelOperands operands)
      : dtype_(input.dtype), shape_(input.shape), groups_(std::move(groups)), operands_(std::move(operands)) {}

  std::vector<std::string> headers() const override { return {header_path}; }
  bool accepts_views() const override { return true; }
  KernelOperands operands() const override { return operands_; }

  std::string sizes(const KernelText& text) const override {
    std::vector<std::string> size(3 - (shape_.size() - 2), "1");
    for (size_t i = 2; i < shape_.size(); ++i) size.push_back(text.expr(shape_[i]));
    return braced({text.expr(shape_[0]), text.expr(shape_[1]), text.expr(groups_), braced(size)});
  }

 protected:
  Expr elements() const { return product(shape_); }

  DType dtype_;
  Shape shape_;
  Expr groups_;

 private:
  KernelOperands operands_;
};

class PartialMomentsSpec : public MomentsSpec {
 public:
  PartialMomentsSpec(const Buffer& input, Expr groups, KernelOperands operands, bool with_squares, bool of_rows)
      : MomentsSpec(input, std::move(groups), std::move(operands)), with_squares_(with_squares), of_rows_(of_rows) {}

  std::string describe() const override { return with_squares_ ? "partial_moments" : "partial_sums"; }
  std::string type(const KernelCall&, const Program&, const std::string&) const override {
    if (of_rows_) return fmt::format("PartialMomentsOfRows<{}>", info(dtype_).c_type);
    return fmt::format("PartialMoments<{}, {}>", info(dtype_).c_type, with_squares_);
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced(
        {text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text), blocked_view(text, call.inputs[0])});
  }
  Expr operations() const override { return elements() * (with_squares_ ? 5 : 1); }

 private:
  bool with_squares_, of_rows_;
};

class ChannelMomentsSpec : public MomentsSpec {
 public:
  ChannelMomentsSpec(const Buffer& input, Expr groups, KernelOperands operands, int block_lanes)
      : MomentsSpec(input, std::move(groups), std::move(operands)), block_lanes_(block_lanes) {}

  std::string describe() const override { return "channel_moments"; }
  std::string type(const KernelCall&, const Program&, const std::string&) const override {
    return fmt::format("ChannelMoments<{}>", block_lanes_);
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced({text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text)});
  }
  Expr operations() const override { return 0; }

 private:
  int block_lanes_;
};

class MeanOfChannelsSpec : public MomentsSpec {
 public:
  using MomentsSpec::MomentsSpec;

  std::string describe() const override { return "mean_of_channels"; }
  std::string type(const KernelCall& call, const Program& program, const std::string& epilogue) const override {
    return fmt::format("MeanOfChannels<{}, {}>", c_type(program, call.output), epilogue);
  }
  std::string arguments(const KernelCall& call, const KernelText& text) const override {
    return braced(
        {text.pointer(call.inputs[0]), text.pointer(call.output), sizes(text), blocked_view(text, call.output)});
  }
  Expr operations() const override { return 0; }
};

KernelOperand row_major_operand(const Program& program, BufferId id) {
  const Shape& shape = program.buffer(id).shape;
  return whole_operand(shape, {Layout::row_major(shape.size())});
}

BufferId emit_partial(const MomentsCall& moments, bool with_squares, Program& program) {
  const Buffer input = program.buffer(moments.input);
  const Expr voxels = product(Shape(input.shape.begin() + 2, input.shape.end()));
  // As ChunkGeometry has it.
  const Shape shape{input.shape[0], ceil_div(input.shape[1], moments.lanes),
                    ceil_div(voxels, kernels::moments_chunk_voxels(moments.lanes)), kernels::chunk_values(with_squares),
                    moments.lanes};
  KernelCall call;
  call.inputs = {moments.input};
  call.output = add_temporary(program, input.name + ".partial", shape);
  KernelOperands operands{{whole_operand(input.shape, {input.layout})}, row_major_operand(program, call.output)};
  call.spec = std::make_shared<PartialMomentsSpec>(input, moments.groups, std::move(operands), with_squares,
                                                   moments.lanes == 1);
  const BufferId partial = call.output;
  program.steps.push_back({std::move(call), {moments.origin}});
  return partial;
}

}  // namespace

BufferId emit_moments(const MomentsCall& moments, Program& program) {
  KernelCall call;
  call.inputs = {emit_partial(moments, true, program)};
  const Buffer input = program.buffer(moments.input);
  call.output = add_temporary(program, input.name + ".moments", {3, input.shape[0], moments.groups});
  KernelOperands operands{{row_major_operand(program, call.inputs[0])}, row_major_operand(program, call.output)};
  call.spec = std::make_shared<ChannelMomentsSpec>(input, moments.groups, std::move(operands), moments.lanes);
  const BufferId result = call.output;
  program.steps.push_back({std::move(call), {moments.origin}});
  return result;
}

void emit_means(const MomentsCall& moments, const Value& output, LoweringContext& context) {
  Program& program = context.program();
  KernelCall call;
  call.inputs = {emit_partial(moments, false, program)};
  const Layout layout = Layout::channel_blocked(output.shape->size(), moments.lanes);
  KernelOperands operands{{row_major_operand(program, call.inputs[0])}, whole_operand(*output.shape, {layout})};
  call.spec = std::make_shared<MeanOfChannelsSpec>(program.buffer(moments.input), moments.groups, std::move(operands));
  call.epilogue = plain_epilogue(output);
  context.emit_kernel(std::move(call), output, layout, moments.origin);
}

}  // namespace onnxc
