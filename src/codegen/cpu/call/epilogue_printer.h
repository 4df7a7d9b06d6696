// Epilogues of kernel templates: which expressions they can take, and their text.
#pragma once

#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/host/emit_context.h"

namespace onnxc {

// Whether a kernel can compute the epilogue: everything in it is float arithmetic on
// - the accumulator,
// and where it makes blocks of `lanes` channels
// - a tensor of the output's shape and of blocked layout, at the output's own indices,
// - a value a channel, or a channel and batch: other axes are not indexed,
// - a value for all or for the batch,
// where it makes rows
// - elements that stand one after another as the last axis goes on, or one element whatever the last axis.
// No index may leave its buffer, even behind a select: lanes are selected after both sides are computed.
bool fits_epilogue(const Program& program, const Epilogue& epilogue, BufferId output, EpilogueForm form, int64_t lanes);

// The same for whatever stores the vectors of blocks that the epilogue makes.
bool epilogue_takes_blocks(const Program& program, const Epilogue& epilogue, int64_t lanes);

// Whether each operator is an instruction or two on floats, and there are few (light_epilogue.h). Rows may have masks.
bool is_light(const Scalar& value, EpilogueForm form);

// Writes `struct NAME { ... vec operator()(vec accumulator, const Position& position) const; };` (MatrixPosition in
// the form of rows), whose members are the pointers and dims that it reads, and returns the braced initializer that
// fills them from a Frame called `frame`.
std::string print_epilogue(TextWriter& writer, const EmitContext& context, const Epilogue& epilogue, EpilogueForm form,
                           int64_t lanes, const std::string& name);

}  // namespace onnxc
