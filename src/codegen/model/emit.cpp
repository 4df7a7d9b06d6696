#include "codegen/model/emit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "codegen/cpu/step_printer.h"
#include "codegen/host/buffer_table.h"
#include "codegen/host/model_interface.h"
#include "ir/random_symbols.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

// The object in model.so that is the CpuProgram of a CPU.
std::string program_symbol(size_t cpu) { return fmt::format("onnxc_cpu_program{}", cpu); }

// One file: that of the model, which holds the program of the first CPU, or that of a further CPU.
class Emitter {
 public:
  Emitter(const Program& program, const CpuMachine& machine, size_t cpu, const EmitOptions& options,
          WeightBytes& weights)
      : program_(program), machine_(machine), cpu_(cpu), options_(options), context_(program), weights_(weights) {}

  EmittedSource run() {
    SourceParts parts;
    const PrintedSteps steps = options_.has_cpu_code ? print_steps(parts, context_, machine_.vectors) : PrintedSteps{};
    if (options_.has_cpu_code) declare_steps();
    writer_.append(steps.definitions);
    writer_.line("");
    print_features(steps.uses_tiles);
    if (options_.has_cpu_code) print_program(steps);
    if (cpu_ == 0) print_model();
    std::string interface = writer_.take();
    const SourceParts::Unit unit = parts.add_unit(static_cast<int64_t>(interface.size()) / 5);
    parts.append(std::move(interface), unit);
    const SourceParts::Source body = parts.take();
    print_header(steps, body.parts > 1);
    writer_.append(body.text);
    print_end();
    return {machine_, writer_.take(), body.parts};
  }

  // Checks the parts that the runtime takes to be the same for all CPUs.
  void check_agrees_with(const Emitter& first) const {
    internal_check(symbol_names() == first.symbol_names() && context_.level_count() == first.context_.level_count(),
                   "as many symbols and levels for each CPU");
  }

 private:
  void print_header(const PrintedSteps& steps, bool has_parts) {
    writer_.line(fmt::format("// A model compiled by onnxc {}.", ONNXC_VERSION));
    writer_.line(fmt::format("//   model    {}", options_.model_hash));
    writer_.line(fmt::format("//   target   {}", comment_text(target())));
    writer_.line(fmt::format("//   options  {}", comment_text(options_.options)));
    if (cpu_ == 0) print_build_lines();
    writer_.line("");
    // Elementary functions take clang a hundredth of a second, a thirtieth of a small model's compile.
    std::vector<const char*> headers{"kernels/cpu/vector/checked_size.h"};
    if (steps.calls_functions)
      headers.push_back("kernels/cpu/vector/scalar.h");
    else
      headers.insert(headers.end(), {"kernels/cpu/vector/vector.h", "kernels/shared/scalar.h"});
    headers.push_back("base/step.h");
    for (const char* header : headers) writer_.line(fmt::format("#include \"{}\"", header));
    if (cpu_ == 0) print_device_headers();
    for (const std::string& header : steps.headers) writer_.line(fmt::format("#include \"{}\"", header));
    writer_.line("");
    if (has_parts) print_part_macro();
    if (cpu_ == 0) writer_.line("extern \"C\" const unsigned char onnxc_model_weights[];\n");
    writer_.line("namespace onnxc::runtime {");
    writer_.line("using namespace onnxc::kernels;");
    writer_.line("");
  }

  void print_device_headers() {
    if (options_.devices.empty()) return;
    std::set<std::string> headers;
    for (const EmittedDevice& device : options_.devices)
      headers.insert(device.host_headers.begin(), device.host_headers.end());
    writer_.line("#include \"gpu/backend.h\"");
    for (const std::string& header : headers) writer_.line(fmt::format("#include \"{}\"", header));
  }

  void print_build_lines() {
    writer_.line(
        "// To build model.so in this file's folder, SOURCE being its name and PREFIX the folder that onnxc is "
        "installed under:");
    if (!options_.devices.empty())
      writer_.line("//   (first the code object of each $SOURCE.device*.hip, as its head says)");
    for (const std::string& line : options_.build_lines) writer_.line("//   " + line);
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

  void print_features(bool uses_tiles) {
    std::vector<std::string> features;
    for (const std::string& feature : machine_.features) features.push_back(c_string_literal(feature));
    for (const std::string& feature : machine_.tile_features)
      if (uses_tiles) features.push_back(c_string_literal(feature));
    features.emplace_back("nullptr");
    writer_.array("char* const", "cpu_features", features);
  }

  void print_program(const PrintedSteps& steps) {
    print_sizes(writer_, context_, steps.scratch);
    writer_.line("");
    const std::vector<std::string> buffers = buffer_table(context_, weights_);
    writer_.array("BufferDescription", "buffers", buffers);
    writer_.array("StepDescription", "steps", steps.descriptions);
    {
      auto program = writer_.scope(fmt::format("extern \"C\" const CpuProgram {} =", program_symbol(cpu_)), ";");
      field("march", c_string_literal(machine_.march));
      field("features", "cpu_features");
      field("sizes", "sizes");
      field("buffer_count", std::to_string(buffers.size()));
      field("buffers", "buffers");
      field("step_count", std::to_string(steps.descriptions.size()));
      field("steps", "steps");
    }
    writer_.line("");
  }

  void print_interface() {
    print_bind(writer_, context_);
    writer_.line("");
    print_output_dims(writer_, context_);
    writer_.line("");
    print_tensors("inputs", program_.inputs);
    print_tensors("outputs", program_.outputs);
    writer_.array("int32_t", "output_dim_levels", output_dim_levels(context_));
    writer_.array("char* const", "symbol_names", symbol_names());
    for (const EmittedDevice& device : options_.devices) writer_.append(device.host + "\n");
    if (!options_.devices.empty()) print_device_programs();
  }

  void print_device_programs() {
    std::vector<std::string> programs;
    for (const EmittedDevice& device : options_.devices) programs.push_back("&" + device.program);
    writer_.array("DeviceProgram* const", "device_programs", programs);
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
    for (const EmittedDevice& device : options_.devices)
      targets.push_back(target_text(device.machine, device.is_cubin));
    if (options_.has_cpu_code) targets.push_back("cpu " + options_.machine.march);
    for (const CpuVariant& variant : options_.variants) targets.push_back("cpu " + variant.machine.march);
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

  void field(const char* name, const std::string& value) { writer_.line(fmt::format(".{} = {},", name, value)); }

  // The table of the programs of all CPUs.
  void print_programs() {
    std::vector<std::string> programs;
    for (size_t i = 0; options_.has_cpu_code && i <= options_.variants.size(); ++i) {
      if (i > 0) writer_.line(fmt::format("extern \"C\" const CpuProgram {};", program_symbol(i)));
      programs.push_back("&" + program_symbol(i));
    }
    writer_.array("CpuProgram* const", "cpu_programs", programs);
  }

  // A model has at least the empty one if it has tensors of strings.
  void print_strings() {
    const auto holds_strings = [](const Buffer& buffer) { return buffer.dtype == DType::string; };
    if (program_.strings == nullptr || std::ranges::none_of(program_.buffers, holds_strings)) return;
    const StringTable& strings = *program_.strings;
    Tensor bytes = Tensor::zeros(DType::uint8, {strings.bytes()});
    std::vector<int64_t> ends;
    std::byte* to = bytes.mutable_bytes();
    for (int64_t handle = 0; handle < strings.size(); ++handle) {
      to = std::ranges::copy(std::as_bytes(std::span(strings.text(handle))), to).out;
      ends.push_back(to - bytes.bytes().data());
    }
    field("string_count", std::to_string(strings.size()));
    field("string_bytes", std::to_string(weights_.place(bytes)));
    field("string_ends", std::to_string(weights_.place(Tensor::of(DType::int64, {strings.size()}, ends))));
  }

  void print_model() {
    print_interface();
    print_programs();
    auto model = writer_.scope("extern const ModelDescription model =", ";");
    field("onnxc_version", c_string_literal(ONNXC_VERSION));
    field("target", c_string_literal(target()));
    field("cpu_features", "cpu_features");
    field("information", c_string_literal(information()));
    field("input_count", std::to_string(program_.inputs.size()));
    field("output_count", std::to_string(program_.outputs.size()));
    field("inputs", "inputs");
    field("outputs", "outputs");
    field("symbol_count", std::to_string(context_.symbols.size()));
    if (program_.draws) field("random_symbols", std::to_string(context_.names.places.at(run_seed())));
    field("level_count", std::to_string(context_.level_count()));
    field("output_dim_levels", "output_dim_levels");
    for (const char* name : {"symbol_names", "bind", "output_dims", "cpu_programs"}) field(name, name);
    field("cpu_program_count", std::to_string(options_.has_cpu_code ? 1 + options_.variants.size() : 0));
    field("weights", "onnxc_model_weights");
    print_strings();
    field("weights_size", std::to_string(weights_.size()));
    if (options_.devices.empty()) return;
    field("device_programs", "device_programs");
    field("device_program_count", std::to_string(options_.devices.size()));
    field("device_backend", "&gpu_backend");
  }

  const Program& program_;
  const CpuMachine& machine_;
  const size_t cpu_;
  const EmitOptions& options_;
  EmitContext context_;
  WeightBytes& weights_;
  TextWriter writer_;
};

}  // namespace

// The variants come first, since the model's own file says how large the weights of all are.
EmittedModel emit_model(const Program& program, EmitOptions options) {
  EmittedModel model;
  Emitter first(program, options.machine, 0, options, model.weights);
  for (size_t i = 0; i < options.variants.size(); ++i) {
    const CpuVariant& variant = options.variants[i];
    Emitter emitter(variant.program, variant.machine, i + 1, options, model.weights);
    emitter.check_agrees_with(first);
    model.variants.push_back(emitter.run());
  }
  EmittedSource own = first.run();
  model.source = std::move(own.text);
  model.parts = own.parts;
  model.devices = std::move(options.devices);
  return model;
}

}  // namespace onnxc
