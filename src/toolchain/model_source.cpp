#include "toolchain/model_source.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "codegen/cpu/step_printer.h"
#include "codegen/host/buffer_table.h"
#include "codegen/host/model_interface.h"
#include "support/diagnostics.h"
#include "support/text.h"
#include "toolchain/build_commands.h"

namespace onnxc {
namespace {

class Emitter {
 public:
  Emitter(const Program& program, const EmitOptions& options)
      : program_(program), options_(options), context_(program) {}

  EmittedModel run() {
    SourceParts parts;
    const PrintedSteps steps =
        options_.has_cpu_code ? print_steps(parts, context_, options_.architecture.lanes()) : PrintedSteps{};
    EmittedModel model;
    if (options_.has_cpu_code) declare_steps();
    writer_.append(steps.definitions);
    writer_.line("");
    print_interface(steps);
    BufferTable table = options_.has_cpu_code ? buffer_table(context_) : BufferTable{};
    writer_.array("BufferDescription", "buffers", table.rows);
    if (options_.device != nullptr) writer_.append(options_.device->host + "\n");
    print_model(steps, table);
    model.weights = std::move(table.weights);
    std::string interface = writer_.take();
    const SourceParts::Unit unit = parts.add_unit(static_cast<int64_t>(interface.size()) / 5);
    parts.append(std::move(interface), unit);
    const SourceParts::Source body = parts.take();
    print_header(steps, body.parts > 1);
    writer_.append(body.text);
    print_end();
    model.source = writer_.take();
    model.parts = body.parts;
    return model;
  }

 private:
  void print_header(const PrintedSteps& steps, bool has_parts) {
    writer_.line(fmt::format("// A model compiled by onnxc {}.", ONNXC_VERSION));
    writer_.line(fmt::format("//   model    {}", options_.model_hash));
    writer_.line(fmt::format("//   target   {}", comment_text(target())));
    writer_.line(fmt::format("//   options  {}", comment_text(options_.options)));
    writer_.line(
        "// To build model.so in this file's folder, SOURCE being its name and PREFIX the folder that onnxc is "
        "installed under:");
    if (options_.device != nullptr) writer_.line("//   (first its code objects, as $SOURCE.device.hip says)");
    for (const std::string& line : build_lines(options_.architecture)) writer_.line("//   " + line);
    writer_.line("");
    // Elementary functions take clang a hundredth of a second, a thirtieth of a small model's compile.
    std::vector<const char*> headers{"kernels/cpu/vector/checked_size.h"};
    if (steps.calls_functions)
      headers.push_back("kernels/cpu/vector/scalar.h");
    else
      headers.insert(headers.end(), {"kernels/cpu/vector/vector.h", "kernels/shared/scalar.h"});
    headers.push_back("host/step.h");
    for (const char* header : headers) writer_.line(fmt::format("#include \"{}\"", header));
    if (options_.device != nullptr) {
      writer_.line("#include \"hip/backend.h\"");
      for (const std::string& header : options_.device->host_headers)
        writer_.line(fmt::format("#include \"{}\"", header));
    }
    for (const std::string& header : steps.headers) writer_.line(fmt::format("#include \"{}\"", header));
    writer_.line("");
    if (has_parts) print_part_macro();
    writer_.line("extern \"C\" const unsigned char onnxc_model_weights[];");
    writer_.line("");
    writer_.line("namespace onnxc::runtime {");
    writer_.line("using namespace onnxc::kernels;");
    writer_.line("");
  }

  void print_part_macro() {
    writer_.line(
        "// With ONNXC_PART the compiler sees one part of this file, so that parts can be compiled at the same time.");
    writer_.line("#ifdef ONNXC_PART");
    writer_.line("#define ONNXC_IN_PART(part) (ONNXC_PART == (part))");
    writer_.line("#else");
    writer_.line("#define ONNXC_IN_PART(part) 1");
    writer_.line("#endif");
    writer_.line("");
  }

  void declare_steps() {
    for (size_t i = 0; i < program_.steps.size(); ++i)
      if (!begins_level(program_.steps[i])) writer_.line(fmt::format("void step{}(const Frame& frame);", i));
    writer_.line("");
  }

  void print_end() { writer_.line("}  // namespace onnxc::runtime"); }

  void print_interface(const PrintedSteps& steps) {
    print_bind(writer_, context_);
    writer_.line("");
    print_output_dims(writer_, context_);
    writer_.line("");
    print_sizes(writer_, context_, steps.scratch);
    writer_.line("");
    print_tensors("inputs", program_.inputs);
    print_tensors("outputs", program_.outputs);
    writer_.array("int32_t", "output_dim_levels", output_dim_levels(context_));
    writer_.array("char* const", "symbol_names", symbol_names());
    writer_.array("StepDescription", "steps", steps.descriptions);
  }

  void print_tensors(const std::string& name, const std::vector<BufferId>& ids) {
    std::vector<std::string> descriptions;
    for (size_t i = 0; i < ids.size(); ++i)
      descriptions.push_back(tensor_description(writer_, program_.buffer(ids[i]), fmt::format("{}{}_dims", name, i)));
    writer_.array("TensorDescription", name, descriptions);
  }

  std::vector<std::string> symbol_names() const {
    std::vector<std::string> names;
    for (const Symbol& symbol : context_.symbols) names.push_back(c_string_literal(symbol.name()));
    return names;
  }

  std::string target() const {
    std::vector<std::string> targets;
    if (options_.device != nullptr)
      for (const std::string& gpu : options_.device->gpus) targets.push_back("hip " + gpu);
    if (options_.has_cpu_code) targets.push_back("cpu " + options_.architecture.march);
    return fmt::format("{}", fmt::join(targets, ", "));
  }

  std::string information() const {
    nlohmann::ordered_json json;
    json["model"] = printable(options_.model_hash);
    json["options"] = printable(options_.options);
    json["rules"] = nlohmann::ordered_json::array();
    for (const SizeRule& rule : program_.size_rules)
      json["rules"].push_back(fmt::format("{} = {}", printable(rule.symbol.name()), printable(rule.legal)));
    for (const Guard& guard : program_.guards)
      json["rules"].push_back(
          fmt::format("{} {} {}", printable(guard.left.to_string()),
                      guard.kind == Guard::Kind::equal ? "==" : ">=", printable(guard.right.to_string())));
    return json.dump();
  }

  void print_model(const PrintedSteps& steps, const BufferTable& table) {
    std::vector<std::string> features;
    for (const std::string& feature : options_.architecture.features) features.push_back(c_string_literal(feature));
    features.emplace_back("nullptr");
    writer_.array("char* const", "cpu_features", features);
    auto model = writer_.scope("extern const ModelDescription model =", ";");
    auto field = [&](const char* name, const std::string& value) {
      writer_.line(fmt::format(".{} = {},", name, value));
    };
    field("onnxc_version", c_string_literal(ONNXC_VERSION));
    field("target", c_string_literal(target()));
    field("cpu_features", "cpu_features");
    field("information", c_string_literal(information()));
    field("input_count", std::to_string(program_.inputs.size()));
    field("output_count", std::to_string(program_.outputs.size()));
    field("inputs", "inputs");
    field("outputs", "outputs");
    field("symbol_count", std::to_string(context_.symbols.size()));
    field("level_count", std::to_string(context_.level_count()));
    field("output_dim_levels", "output_dim_levels");
    for (const char* name : {"symbol_names", "bind", "output_dims", "sizes"}) field(name, name);
    field("buffer_count", std::to_string(table.rows.size()));
    field("buffers", "buffers");
    field("step_count", std::to_string(steps.descriptions.size()));
    field("steps", "steps");
    field("weights", "onnxc_model_weights");
    field("weights_size", std::to_string(table.weights.size()));
    if (options_.device != nullptr) field("device_program", "&device_program");
    if (!options_.has_cpu_code) field("has_cpu_code", "false");
  }

  const Program& program_;
  const EmitOptions& options_;
  EmitContext context_;
  TextWriter writer_;
};

}  // namespace

EmittedModel emit_model(const Program& program, const EmitOptions& options) { return Emitter(program, options).run(); }

}  // namespace onnxc
