// Shared by the parts of the emitter: the program, and the names of its dims and memory in the source.
#pragma once

#include <functional>
#include <string>

#include "codegen/nests/nest_scope.h"
#include "codegen/text/text_writer.h"
#include "ir/expr/solve.h"
#include "ir/program/program.h"

namespace onnxc {

struct EmitContext {
  EmitContext(const Program& a_program);

  const Program& program;
  DimSolution dims;  // how inputs' dims give the symbols
  // Numbered by index in frame.symbols: the inputs', those that steps bind, those of random numbers.
  std::vector<Symbol> symbols;
  std::vector<BufferId> storages;  // by index in frame.buffers: the buffers that own memory and are used
  ModelNames names;

  // A program is planned in levels (plan stages): level 0 depends only on the inputs' dims, level n on what is known
  // once n steps have bound symbols.
  int level_count() const { return level_count_; }
  int level(const Expr& size) const;
  int level(const Shape& sizes) const;
  // The level of a step: the one it runs at, or the one it begins.
  int level_of_step(size_t step) const;

  size_t place(BufferId id) const { return names.storages.at(program.storage(id)); }

 private:
  std::map<Symbol, int> levels_;  // of symbols that steps bind
  int level_count_ = 1;
};

// "x float32 [1, N, 3]": names escaped for a comment.
std::string describe_buffer(const Buffer& buffer);

// The comment above a step: the nodes that it computes, and its operands and results.
std::string step_comment(const Program& program, size_t index, const Step& step);
// A text of each node of a step, such as its name, one a line.
std::string origin_lines(const Step& step, const std::function<std::string(const Origin&)>& text);

}  // namespace onnxc
