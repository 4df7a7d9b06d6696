// A program: a model lowered for one target. Its steps run in order over buffers that have a physical layout; a step is
// a loop nest, a call of a kernel template, a symbol binding, or the begin or end of a loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "ir/layout.h"
#include "ir/loops/loops.h"

namespace onnxc {

// A state is memory of the instance's, which a run finds as the run before it left it.
enum class BufferKind : uint8_t { input, output, constant, temporary, state };

// A buffer, or a view of part of one: element [i] of the view is element [i + shift] of the parent, in the parent's
// layout. Inputs and outputs are the caller's memory, row-major; so are states, which the caller reads and sets.
struct Buffer {
  struct View {
    BufferId parent;
    std::vector<Expr> shift;
  };
  // Same memory under another shape: both are row-major and hold as many elements (Reshape, Squeeze, Flatten).
  struct Alias {
    BufferId parent;
  };

  std::string name;  // the ONNX name of the value, for comments, traces and reports
  DType dtype = DType::undefined;
  Shape shape;
  Layout layout;
  BufferKind kind = BufferKind::temporary;
  std::optional<Tensor> constant;  // logical, row-major; the emitter packs it into `layout`
  // Whether `constant` holds bytes in a kernel's own order (packed convolution weights).
  bool is_packed = false;
  std::optional<View> view;
  std::optional<Alias> alias;
  // An input or output of a sub-byte type is the caller's bytes: the tensor that they hold.
  struct Elements {
    DType dtype;
    Shape shape;
  };
  std::optional<Elements> packs;

  // The tensor as the caller sees it.
  DType element_dtype() const { return packs ? packs->dtype : dtype; }
  const Shape& element_shape() const { return packs ? packs->shape : shape; }
};

// An epilogue: the value stored at each point of the output. In this expression accumulator 0 is the kernel's result
// (of the type that its spec names) and `axes` are the output's logical indices.
struct Epilogue {
  std::vector<Axis> axes;
  Scalar value;
};

// The conditions on one operand for which a kernel was made. The verifier holds the buffer against it.
struct KernelOperand {
  std::vector<Layout> layouts = {};                   // it has one of these, or any if none is named
  std::vector<std::pair<size_t, Expr>> extents = {};  // of the axes that the kernel knows
  bool is_packed = false;                             // in an order of the kernel's own
  std::vector<DType> types = {};                      // it has one of these, or a kernel type if none is named
};
// The inputs in the order of the call, as many as it has.
struct KernelOperands {
  std::vector<KernelOperand> inputs;
  KernelOperand output;
};
// An operand of this shape, in one of these layouts.
KernelOperand whole_operand(const Shape& shape, std::vector<Layout> layouts);

// The part of a template call that each target describes for itself.
class KernelSpec {
 public:
  virtual ~KernelSpec() = default;
  virtual std::string describe() const = 0;  // "conv_winograd 3x3x3 64->64", for reports and comments
  virtual KernelOperands operands() const = 0;
  // The type of its sums, with which the epilogue begins.
  virtual DType accumulator() const { return DType::float32; }
  // Whether it stores each element of the output, at the axes of the epilogue; else a part, wherever in it.
  virtual bool fills_output() const { return true; }
  // Whether the epilogue may load from the output the element that it computes: only the thread that stores it does.
  virtual bool may_replace_operand() const { return fills_output(); }
  // Whether its operands may be views of part of a buffer: a kernel that is given their strides takes them, one that
  // reads contiguous elements does not. Each kernel says so, since it would read other elements without a word.
  virtual bool accepts_views() const = 0;
};

// The types that kernels load and store; they compute with all of them in float32. A kernel of other types names them
// (KernelOperand::types).
bool is_kernel_type(DType dtype);

// A call of a kernel template (kernels/cpu). Which template, and what it is instantiated with, is the choice of
// the target; the program only knows its operands and the scalar expression applied before the store.
struct KernelCall {
  std::shared_ptr<const KernelSpec> spec;
  std::vector<BufferId> inputs;  // in the order the spec defines; epilogue operands are found in the epilogue
  BufferId output = -1;
  std::optional<BufferId> workspace = {};  // memory that the kernel writes and reads, and nobody else
  Epilogue epilogue;                       // without a value if the kernel applies none
  // The epilogue of a result that the kernel keeps to itself, such as attention's scores; without a value if none.
  Epilogue inner_epilogue = {};
};

// Sizes that are known only at run time: symbol i gets element i, in row-major order, of a buffer of integers. Memory
// that does not depend on the symbols is planned before the run; that of the steps after this one, once the symbols are
// bound.
struct SymbolBinding {
  std::vector<Symbol> symbols;
  BufferId buffer = -1;
};

// The steps from here to the matching LoopEnd run repeatedly: `round` is 0, 1, 2, ... below `count`, while the buffer
// `condition`, if there is one, holds true. Afterwards `round` is the number of rounds that ran.
struct LoopBegin {
  Symbol round;
  Expr count;
  BufferId condition = -1;
  std::vector<BufferId> carried;  // written before the loop and again in it, for the next round
};
struct LoopEnd {};

using Work = std::variant<LoopNest, KernelCall, SymbolBinding, LoopBegin, LoopEnd>;

struct Step {
  Work work;
  std::vector<Origin> origins;  // the nodes that this step computes; several when fused
  Expr condition = 1;           // the step runs only if this is not 0
};

// An input and an output which have become memory of the instance's (passes/states/bind_states.h).
struct State {
  std::string name;  // the input's
  BufferId buffer;
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<BufferId> inputs, outputs;
  std::vector<State> states;
  std::vector<Guard> guards;
  std::vector<SizeRule> size_rules;
  bool draws = false;                          // random numbers (ir/random_symbols.h)
  std::shared_ptr<const StringTable> strings;  // of the graph; null for a program of no graph

  const Buffer& buffer(BufferId id) const { return buffers.at(static_cast<size_t>(id)); }
  Buffer& buffer(BufferId id) { return buffers.at(static_cast<size_t>(id)); }
  BufferId add(Buffer buffer);

  // The buffer that owns the memory of this one, through views and aliases.
  BufferId storage(BufferId id) const;
  // The offset in elements, from the start of the storage, of the element at these logical indices.
  Expr offset(BufferId id, const std::vector<Expr>& indices) const;
};

// The row-major indices of the element at `position`.
std::vector<Expr> unflatten(const Shape& shape, Expr position);

// Whether a level (plan stage) begins at the step: it binds symbols, or a loop begins or ends there.
bool begins_level(const Step& step);
// The innermost LoopBegin around each step; none outside loops. LoopBegin and LoopEnd count as inside.
std::vector<std::optional<size_t>> enclosing_loops(const Program& program);

// The buffer that the host reads at the step: for its symbols, or for whether a loop goes on.
std::optional<BufferId> read_by_host(const Step& step);

// The symbols that steps bind, each with its step.
std::map<Symbol, size_t> binding_steps(const Program& program);

// The buffers that a step reads, and those it writes, each once, in order of appearance.
std::vector<BufferId> reads(const Step& step);
std::vector<BufferId> writes(const Step& step);

void verify(const Program& program);
std::string to_string(const Program& program);

}  // namespace onnxc
