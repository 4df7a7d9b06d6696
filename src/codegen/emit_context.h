// What the parts of the emitter share: the program, and the names of its dims and memory in the source.
#pragma once

#include "codegen/nest_scope.h"
#include "codegen/text_writer.h"
#include "ir/program.h"
#include "ir/solve.h"

namespace onnxc {

struct EmitContext {
  EmitContext(const Program& a_program);

  const Program& program;
  DimSolution dims;                // how inputs' dims give the symbols
  std::vector<Symbol> symbols;     // in the order of their places
  std::vector<BufferId> storages;  // the buffers that own memory and are used, in the order of their places
  ModelNames names;

  size_t place(BufferId id) const { return names.storages.at(program.storage(id)); }
};

// "x float32 [1, N, 3]": names escaped for a comment.
std::string describe_buffer(const Buffer& buffer);

// The comment over a step: the nodes that it computes, and what it reads and writes.
std::string step_comment(const Program& program, size_t index, const Step& step);
// The names or the operators of the nodes of a step, one a line.
std::string origin_lines(const Step& step, std::string Origin::* member);

}  // namespace onnxc
