// Epilogues of kernel templates: which expressions a kernel can apply, and their text.
#pragma once

#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/host/emit_context.h"
#include "machine/vector_unit.h"

namespace onnxc {

// Whether a kernel can compute the epilogue: all of it is float arithmetic, or if its sums are int32 also arithmetic on
// these and on bytes, on
// - the accumulator,
// and, in a kernel that stores NCHWc blocks of `lanes` channels, on
// - a tensor of the output's shape in NCHWc, at the output's own indices,
// - one value a channel, or a channel and batch (it has no other index),
// - one value in all, or one a batch element;
// in a kernel that stores rows, on
// - elements that are contiguous along the last axis, or do not depend on it.
// No index may leave its buffer, even in a select: both sides are computed before lanes are selected.
bool fits_epilogue(const Program& program, const Epilogue& epilogue, BufferId output, EpilogueForm form,
                   const machine::VectorUnit& vectors);

// The same for any code that stores NCHWc blocks, computed by the epilogue; an epilogue that gives integers has integer
// arithmetic.
bool epilogue_takes_blocks(const Program& program, const Epilogue& epilogue, const machine::VectorUnit& vectors);

// Whether the epilogue is light: few operators of one or two instructions (light_epilogue.h). Rows may have masks.
bool is_light(const Scalar& value, EpilogueForm form);

// Writes `struct NAME { ... vec operator()(vec accumulator, const Position& position) const; };` (MatrixPosition for
// rows, vec_int32 for integers), whose members are the pointers and dims that it reads. Returns the braced initializer
// that fills them from a Frame called `frame`.
std::string print_epilogue(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue, EpilogueForm form,
                           const machine::VectorUnit& vectors, const std::string& name);

}  // namespace onnxc
