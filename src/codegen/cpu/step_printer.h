// The steps of a program as C++: each becomes `void stepN(const Frame& frame)`. Steps that run equal loops share one
// function, and steps that call a kernel template with equal parameters and epilogue share its instance.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/host/emit_context.h"
#include "codegen/host/model_interface.h"
#include "codegen/host/source_parts.h"
#include "machine/vector_unit.h"

namespace onnxc {

struct PrintedSteps {
  std::set<std::string> headers;  // that the kernels need
  bool uses_tiles = false;        // of the machine (AMX)
  bool calls_functions = false;   // perhaps elementary ones (kernels/cpu/vector/math.h)
  ScratchOfLevels scratch;
  std::vector<std::string> descriptions;  // a StepDescription's initializer for each step
  std::string definitions;                // that the descriptions use
};

PrintedSteps print_steps(SourceParts& parts, const EmitContext& context, const machine::VectorUnit& vectors);

}  // namespace onnxc
