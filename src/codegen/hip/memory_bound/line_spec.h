// Calls of kernels/hip/memory_bound/normalized_lines.h and normalized_chunks.h, as offers make and fusions see them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/memory_bound/line_choice.h"

namespace onnxc {

using kernels::LineKind;
using kernels::LineMemory;
using kernels::LinePlan;
using kernels::LineSizes;

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

  Expr outer() const;
  Expr columns() const;
  Expr inner() const;
};

// Lines, and how blocks of threads process them.
struct PlannedLines {
  Lines lines;
  LinePlan plan;
  int64_t element_size;  // of the larger of input and output
  GpuMachine gpu;
  int64_t common_lines = 0;  // in chunks: lines with the same statistics; 0: a block has whole lines

  bool is_in_chunks() const { return common_lines > 0; }
  std::string title() const;  // "softmax of lines of 320"
};

// The plan with a block for each line of channels in blocks; nothing if a block does not hold one.
std::optional<LinePlan> plan_with_line_a_block(const PlannedLines& planned);
// Whether lines in blocks are cut into chunks without a rest.
bool has_whole_chunks(const PlannedLines& planned);

// The common part of the two kernels.
class LineSpecBase : public HipKernelSpec {
 public:
  LineSpecBase(PlannedLines planned, KernelOperands operands)
      : planned_(std::move(planned)), operands_(std::move(operands)) {}

  std::string describe() const override { return planned_.title(); }
  KernelOperands operands() const override { return operands_; }
  // Threads past a line's end, or past the last line, compute the epilogue of an element that another thread stores.
  bool may_replace_operand() const override { return false; }
  // Others are counted through whole buffers.
  bool accepts_views() const override { return lines().is_by_instance; }
  std::string host_header() const override { return "kernels/hip/memory_bound/line_geometry.h"; }
  std::vector<std::string> coordinates(size_t) const override { return lines().coordinates; }

  const PlannedLines& planned() const { return planned_; }
  const Lines& lines() const { return planned_.lines; }
  const LinePlan& plan() const { return planned_.plan; }
  // The template argument of the kernels.
  std::string plan_text_of(const KernelCall& call, const Program& program) const;

 protected:
  std::string sizes(const KernelText& text) const;
  std::string line_arguments(const KernelCall& call, const KernelText& text) const;
  // The sizes, if the compile knows them.
  std::optional<LineSizes> known_sizes() const;
  KernelFigures figures_of(const std::optional<GpuEstimate>& estimate) const;

  PlannedLines planned_;
  std::string parts_;  // what is done to the launch's parts

 private:
  LinePlan plan_of(const KernelCall& call, const Program& program) const;
  std::vector<Expr> strides(const Program& program, BufferId id) const;
  LineMemory place(const Program& program, BufferId id) const;
  std::string view(const KernelText& text, BufferId id) const;

  KernelOperands operands_;
};

// Lines that a block of threads has whole.
class LineSpec : public LineSpecBase {
 public:
  using LineSpecBase::LineSpecBase;

  std::string device_header() const override { return "kernels/hip/memory_bound/normalized_lines.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override;
  std::string function(const KernelCall& call, const Program& program) const override;
  std::string arguments(const KernelCall& call, const KernelText& text) const override;
  std::string blocks() const override;
  KernelFigures figures() const override;

  bool is_softmax_of_last_axis() const;
  std::shared_ptr<LineSpec> with_plan(const LinePlan& plan) const;
};

// Few long lines take three kernels: the statistics of their chunks, a fold of these if they are many, and the
// normalisation.
class LineChunkSpec : public LineSpecBase {
 public:
  using LineSpecBase::LineSpecBase;

  std::string device_header() const override { return "kernels/hip/memory_bound/normalized_chunks.h"; }
  std::string arguments_type(const KernelCall& call, const Program& program) const override;
  std::string function(const KernelCall& call, const Program& program) const override;
  std::string arguments(const KernelCall& call, const KernelText& text) const override;
  std::string blocks() const override;
  std::vector<DeviceFunction> further(const KernelCall& call, const Program& program) const override;
  KernelFigures figures() const override;

  // The launches after the statistics of the parts. If only a run knows how many there are it also finds whether they
  // are folded, and launches one of two last kernels. `chunks` are their arguments in the host file.
  std::vector<DeviceFunction> last_launches(const KernelCall& call, const Program& program,
                                            const std::string& chunks) const;
  // Lines have whole chunks. Parts have another length if `columns` is not 0; the statistics begin `offset`
  // elements after the workspace.
  std::shared_ptr<LineChunkSpec> with_parts(int64_t columns, int64_t offset) const;

 private:
  std::optional<ChunkEstimate> known_estimate() const;

  int64_t partial_offset_ = 0;
  int64_t part_columns_ = 0;  // of a part; 0: its own
};

}  // namespace onnxc
