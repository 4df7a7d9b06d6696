#include "codegen/host/step_description.h"

#include <algorithm>
#include <set>

#include "support/text.h"

namespace onnxc {
namespace {

// For the tensors that a step reads and writes, each once, with the padding of their layouts. A part of a tensor, such
// as when a concatenation is written in place, counts as that part.
Expr bytes_moved(const Program& program, const Step& step) {
  if (begins_level(step)) return 0;
  std::set<BufferId> ids;
  for (BufferId id : reads(step)) ids.insert(id);
  for (BufferId id : writes(step)) ids.insert(id);
  const auto* call = std::get_if<KernelCall>(&step.work);
  if (call != nullptr && call->workspace) ids.erase(*call->workspace);
  Expr bytes = 0;
  for (BufferId id : ids) {
    const Buffer& buffer = program.buffer(id);
    bytes += buffer.layout.element_count(buffer.shape) * element_size(buffer.dtype);
  }
  return bytes;
}

}  // namespace

std::string StepDescriptionPrinter::describe(size_t step_index, const std::string& function, const std::string& name,
                                             const std::optional<Expr>& operations, const std::string& rest) {
  const Step& step = context_.program.steps[step_index];
  const std::string outputs = outputs_.describe(step_index);
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", c_string_literal(name),
                     c_string_literal(origin_lines(step, &Origin::name)),
                     c_string_literal(origin_lines(step, &Origin::type)), describe_source(step), function,
                     operations ? describe_counts(step, *operations) : "nullptr", outputs, rest);
}

std::string StepDescriptionPrinter::describe_source(const Step& step) {
  const auto lines = [&](std::string SourcePlace::* member) {
    const auto text = [&](const Origin& origin) { return origin.place.*member; };
    const bool is_known =
        std::ranges::any_of(step.origins, [&](const Origin& origin) { return !text(origin).empty(); });
    return c_string_literal(is_known ? origin_lines(step, text) : "");
  };
  return fmt::format("{{{}, {}, {}}}", lines(&SourcePlace::module), lines(&SourcePlace::line),
                     lines(&SourcePlace::code));
}

std::string StepDescriptionPrinter::describe_counts(const Step& step, const Expr& operations) {
  const Expr bytes = bytes_moved(context_.program, step);
  if (operations.is_constant(0) && bytes.is_constant(0)) return "nullptr";
  SymbolNames checked;
  for (size_t i = 0; i < context_.symbols.size(); ++i)
    checked[context_.symbols[i]] = fmt::format("CheckedSize(symbols[{}])", i);
  const auto number = [&](const Expr& expr) {
    return fmt::format("static_cast<double>(CheckedSize({}).value)", print_expr(expr, checked, "CheckedSize"));
  };
  TextWriter body(writer_.indentation() + 1);
  body.line(fmt::format("return {{{}, {}}};", number(operations), number(bytes)));
  return functions_.share(writer_, "StepCounts", "counts", "const int64_t* symbols", body.take());
}

}  // namespace onnxc
