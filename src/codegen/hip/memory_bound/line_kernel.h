// Calls of kernels/hip/memory_bound/normalized_lines.h, as fusions see them. Their offers: kernel_rows.h.
#pragma once

#include <memory>
#include <string>

#include "codegen/hip/call/kernel_spec.h"

namespace onnxc {

// Whether a call is a Softmax over the last axis and nothing else.
bool is_softmax_over_last_axis(const KernelCall& call);

// For a normalisation by channels in blocks whose lines have a known length that a block holds: the same with a line a
// block, as many threads as it has elements and float32 elements. Null for others.
std::shared_ptr<const HipKernelSpec> lines_of_blocks(const KernelCall& call);
// For a normalisation by channels in blocks whose lines are whole chunks. The same with statistics of parts of so many
// elements, or of its own parts if they are 0, which lie `offset` floats after the begin of the workspace. Null for
// others.
std::shared_ptr<const HipKernelSpec> lines_of_chunks(const KernelCall& call, int64_t columns, int64_t offset);
// The launches after the statistics of the parts; `chunks` are their arguments in the host file.
std::vector<DeviceFunction> last_launches(const HipKernelSpec& spec, const KernelCall& call, const Program& program,
                                          const std::string& chunks);
// The template argument of the kernels of either, and the elements that a thread holds.
std::string line_plan_text(const HipKernelSpec& spec, const KernelCall& call, const Program& program);
int64_t held_elements(const HipKernelSpec& spec);

}  // namespace onnxc
