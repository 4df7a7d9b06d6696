// Which memory a step may write: passes ask here before they give a step other memory or move it, and the verifier asks
// after each pass.
#pragma once

#include <optional>
#include <string>

#include "ir/program/program.h"

namespace onnxc {

// Whether the buffers may have memory in common: they have one storage, and no axis shows that they are parts apart.
bool may_overlap(const Program& program, BufferId a, BufferId b);

// Whether the buffer is all of its storage, so that its elements follow one another.
bool is_whole(const Program& program, BufferId id);

// Why a step may not write its output there, as text; nothing if it may.
//
// A kernel writes no memory that it reads: it stores some elements before it has read all. Its epilogue may load the
// very element that it stores. So may a nest, whose stores follow one another, and elements that no iteration stores;
// with an ordered axis it may read any, since it says itself what comes when.
std::optional<std::string> memory_fault(const Program& program, const KernelCall& call);
std::optional<std::string> memory_fault(const Program& program, const LoopNest& nest);

}  // namespace onnxc
