#include "codegen/host/step_description.h"

#include <algorithm>

#include "support/text.h"

namespace onnxc {

std::string StepDescriptionPrinter::describe(size_t step_index, const std::string& function, const std::string& name,
                                             const Expr& operations, const std::string& rest) {
  const Step& step = context_.program.steps[step_index];
  const std::string outputs = outputs_.describe(step_index);
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", c_string_literal(name),
                     c_string_literal(origin_lines(step, &Origin::name)),
                     c_string_literal(origin_lines(step, &Origin::type)), describe_source(step), function,
                     describe_operations(operations), outputs, rest);
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

std::string StepDescriptionPrinter::describe_operations(const Expr& operations) {
  if (operations.is_constant(0)) return "nullptr";
  SymbolNames checked;
  for (size_t i = 0; i < context_.symbols.size(); ++i)
    checked[context_.symbols[i]] = fmt::format("CheckedSize(symbols[{}])", i);
  TextWriter body(writer_.indentation() + 1);
  body.line(fmt::format("return static_cast<double>(CheckedSize({}).value);",
                        print_expr(operations, checked, "CheckedSize")));
  return functions_.share(writer_, "double", "operations", "const int64_t* symbols", body.take());
}

}  // namespace onnxc
