#include "codegen/model/emit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
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

// The object in model.so that is the CpuProgram of an entry for a CPU.
std::string program_symbol(size_t entry, size_t cpu) { return fmt::format("onnxc_entry{}_cpu_program{}", entry, cpu); }

std::string space_of(size_t entry) { return fmt::format("entry{}", entry); }

std::string target_of(const ModelEntry& entry, const EmitOptions& options) {
  std::vector<std::string> targets;
  for (const EmittedDevice& device : entry.devices) targets.push_back(target_text(device.machine, device.is_cubin));
  if (options.has_cpu_code) targets.push_back("cpu " + options.machine.march);
  for (const CpuVariant& variant : entry.variants) targets.push_back("cpu " + variant.machine.march);
  return fmt::format("{}", fmt::join(targets, ", "));
}

// The parts of one file, and the facts about them that its head needs.
struct File {
  size_t cpu;  // its number: the first CPU's file also has what depends only on dims
  const CpuMachine& machine;
  SourceParts parts = {};
  std::set<std::string> headers = {};
  bool calls_functions = false;
  std::vector<std::string> states = {};  // the names of those of all entries

  size_t place_of_state(const std::string& name) const {
    return static_cast<size_t>(std::ranges::find(states, name) - states.begin());
  }
};

// The blocks of the cards as objects of model.so: equal ones are one object.
struct CardWeights {
  explicit CardWeights(std::vector<WeightBytes> of_cards) {
    for (WeightBytes& bytes : of_cards) {
      const auto known = std::ranges::find_if(objects, [&](const auto& object) { return object.bytes.equals(bytes); });
      object_of_card.push_back(static_cast<size_t>(known - objects.begin()));
      if (known != objects.end()) continue;
      const std::string number = objects.empty() ? "" : std::to_string(objects.size());
      objects.push_back({"onnxc_device_weights" + number, std::move(bytes)});
    }
  }

  std::vector<EmittedWeights> objects;
  std::vector<size_t> object_of_card;
};

// An entry's part of a file.
class EntryEmitter {
 public:
  EntryEmitter(const ModelEntry& entry, size_t number, File& file, const EmitOptions& options, WeightBytes& weights)
      : entry_(entry),
        program_(file.cpu == 0 ? entry.program : entry.variants[file.cpu - 1].program),
        number_(number),
        file_(file),
        options_(options),
        context_(program_),
        weights_(weights) {}

  void run() {
    file_.parts.append(fmt::format("// Entry '{}'\nnamespace {} {{\n\n", comment_text(entry_.name), space_of(number_)));
    const PrintedSteps steps =
        options_.has_cpu_code ? print_steps(file_.parts, context_, file_.machine.vectors) : PrintedSteps{};
    file_.headers.insert(steps.headers.begin(), steps.headers.end());
    file_.calls_functions |= steps.calls_functions;
    if (options_.has_cpu_code) declare_steps();
    writer_.append(steps.definitions);
    writer_.line("");
    print_features(steps.uses_tiles);
    if (options_.has_cpu_code) print_program(steps);
    if (file_.cpu == 0) print_model();
    std::string interface = writer_.take();
    const SourceParts::Unit unit = file_.parts.add_unit(static_cast<int64_t>(interface.size()) / 5);
    file_.parts.append(std::move(interface), unit);
    file_.parts.append(fmt::format("}}  // namespace {}\n\n", space_of(number_)));
  }

  // Checks the parts that the runtime takes to be the same for all CPUs.
  void check_agrees_with(const EntryEmitter& first) const {
    internal_check(symbol_names() == first.symbol_names() && context_.level_count() == first.context_.level_count(),
                   "as many symbols and levels for each CPU");
  }

 private:
  void declare_steps() {
    for (size_t i = 0; i < program_.steps.size(); ++i)
      if (!begins_level(program_.steps[i])) writer_.line(fmt::format("void step{}(const Frame& frame);", i));
    writer_.line("");
  }

  void print_features(bool uses_tiles) {
    std::vector<std::string> features;
    for (const std::string& feature : file_.machine.features) features.push_back(c_string_literal(feature));
    for (const std::string& feature : file_.machine.tile_features)
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
      auto program =
          writer_.scope(fmt::format("extern \"C\" const CpuProgram {} =", program_symbol(number_, file_.cpu)), ";");
      field("march", c_string_literal(file_.machine.march));
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
    if (!program_.states.empty()) print_states();
    for (const EmittedDevice& device : entry_.devices) writer_.append(device.host + "\n");
    if (!entry_.devices.empty()) print_device_programs();
  }

  void print_states() {
    print_state_dims(writer_, context_);
    writer_.line("");
    std::vector<std::string> descriptions, places;
    for (const State& state : program_.states) {
      Buffer shown = program_.buffer(state.buffer);
      shown.name = state.name;
      descriptions.push_back(tensor_description(writer_, shown, fmt::format("states{}_dims", descriptions.size())));
      places.push_back(std::to_string(file_.place_of_state(state.name)));
    }
    writer_.array("TensorDescription", "states", descriptions);
    writer_.array("int32_t", "state_places", places);
  }

  void print_device_programs() {
    std::vector<std::string> programs;
    for (const EmittedDevice& device : entry_.devices) programs.push_back("&" + device.program);
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

  std::string information() const {
    nlohmann::ordered_json json;
    json["model"] = printable(entry_.model_hash);
    json["options"] = printable(options_.options);
    json["rules"] = nlohmann::ordered_json::array();
    for (const SizeRule& rule : program_.size_rules)
      json["rules"].push_back(fmt::format("{} = {}", printable(rule.symbol.name()), printable(rule.legal)));
    for (const Guard& guard : program_.guards)
      json["rules"].push_back(
          fmt::format("{} {} {}", printable(guard.left.to_string()),
                      guard.kind == Guard::Kind::equal ? "==" : ">=", printable(guard.right.to_string())));
    for (const StateNames& names : options_.states)
      if (std::ranges::count(program_.states, names.input, &State::name) > 0)
        json["states"][printable(names.input)] = printable(names.output);
    return json.dump();
  }

  void field(const char* name, const std::string& value) { writer_.line(fmt::format(".{} = {},", name, value)); }

  // The table of the programs of all CPUs.
  void print_programs() {
    std::vector<std::string> programs;
    for (size_t i = 0; options_.has_cpu_code && i <= entry_.variants.size(); ++i) {
      if (i > 0) writer_.line(fmt::format("extern \"C\" const CpuProgram {};", program_symbol(number_, i)));
      programs.push_back("&" + program_symbol(number_, i));
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
    field("name", c_string_literal(entry_.name));
    field("target", c_string_literal(target_of(entry_, options_)));
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
    field("cpu_program_count", std::to_string(options_.has_cpu_code ? 1 + entry_.variants.size() : 0));
    print_strings();
    if (!program_.states.empty()) {
      field("state_count", std::to_string(program_.states.size()));
      for (const char* name : {"states", "state_places", "state_dims"}) field(name, name);
    }
    if (entry_.devices.empty()) return;
    field("device_programs", "device_programs");
    field("device_program_count", std::to_string(entry_.devices.size()));
    field("device_backend", "&gpu_backend");
  }

  const ModelEntry& entry_;
  const Program& program_;
  const size_t number_;
  File& file_;
  const EmitOptions& options_;
  EmitContext context_;
  WeightBytes& weights_;
  TextWriter writer_;
};

// A file with its entries: the first CPU's, which defines the shared object, or that of a further CPU.
class FileEmitter {
 public:
  FileEmitter(const std::vector<ModelEntry>& entries, size_t cpu, const EmitOptions& options, WeightBytes& weights,
              const CardWeights& card_weights)
      : entries_(entries),
        file_{cpu, cpu == 0 ? options.machine : entries.front().variants[cpu - 1].machine},
        options_(options),
        weights_(weights),
        card_weights_(card_weights) {
    for (size_t i = 0; i < entries.size(); ++i) add_entry(i);
    for (const ModelEntry& entry : entries)
      for (const State& state : entry.program.states)
        if (file_.place_of_state(state.name) == file_.states.size()) file_.states.push_back(state.name);
  }

  EmittedSource run() {
    for (const auto& emitter : emitters_) emitter->run();
    if (file_.cpu == 0) print_shared_object();
    const SourceParts::Source body = file_.parts.take();
    print_header(body.parts > 1);
    writer_.append(body.text);
    writer_.line("}  // namespace onnxc::runtime");
    return {file_.machine, writer_.take(), body.parts};
  }

  void check_agrees_with(const FileEmitter& first) const {
    for (size_t i = 0; i < emitters_.size(); ++i) emitters_[i]->check_agrees_with(*first.emitters_[i]);
  }

 private:
  void print_header(bool has_parts) {
    writer_.line(fmt::format("// A model compiled by onnxc {}.", ONNXC_VERSION));
    for (const ModelEntry& entry : entries_)
      writer_.line(fmt::format("//   model    {}{}", entry.model_hash,
                               entries_.size() > 1 ? fmt::format(" '{}'", comment_text(entry.name)) : ""));
    writer_.line(fmt::format("//   target   {}", comment_text(target_of(entries_.front(), options_))));
    writer_.line(fmt::format("//   options  {}", comment_text(options_.options)));
    if (file_.cpu == 0) print_build_lines();
    writer_.line("");
    // Elementary functions take clang a hundredth of a second, a thirtieth of a small model's compile.
    std::vector<const char*> headers{"kernels/cpu/vector/checked_size.h"};
    if (file_.calls_functions)
      headers.push_back("kernels/cpu/vector/scalar.h");
    else
      headers.insert(headers.end(), {"kernels/cpu/vector/vector.h", "kernels/shared/scalar.h"});
    headers.push_back("base/step.h");
    if (file_.cpu == 0 && entries_.size() > 1) headers.push_back("base/entry.h");
    for (const char* header : headers) writer_.line(fmt::format("#include \"{}\"", header));
    if (file_.cpu == 0) print_device_headers();
    for (const std::string& header : file_.headers) writer_.line(fmt::format("#include \"{}\"", header));
    writer_.line("");
    if (has_parts) print_part_macro();
    if (file_.cpu == 0) writer_.line("extern \"C\" const unsigned char onnxc_model_weights[];\n");
    if (file_.cpu == 0)
      for (const EmittedWeights& object : card_weights_.objects)
        writer_.line(fmt::format("extern \"C\" const unsigned char {}[];\n", object.symbol));
    writer_.line("namespace onnxc::runtime {");
    writer_.line("using namespace onnxc::kernels;");
    for (size_t card = 0; file_.cpu == 0 && card < card_weights_.object_of_card.size(); ++card)
      writer_.line(fmt::format("extern const WeightBlock {};", device_weight_block(card)));
    writer_.line("");
  }

  bool has_devices() const { return !entries_.front().devices.empty(); }

  void print_device_headers() {
    if (!has_devices()) return;
    std::set<std::string> headers;
    for (const ModelEntry& entry : entries_)
      for (const EmittedDevice& device : entry.devices)
        headers.insert(device.host_headers.begin(), device.host_headers.end());
    writer_.line("#include \"gpu/backend.h\"");
    for (const std::string& header : headers) writer_.line(fmt::format("#include \"{}\"", header));
  }

  void print_build_lines() {
    writer_.line(
        "// To build model.so in this file's folder, SOURCE being its name and PREFIX the folder that onnxc is "
        "installed under:");
    if (has_devices()) writer_.line("//   (first the code object of each $SOURCE.device*.hip, as its head says)");
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

  void add_entry(size_t number) {
    const ModelEntry& entry = entries_[number];
    try {
      emitters_.push_back(std::make_unique<EntryEmitter>(entry, number, file_, options_, weights_));
    } catch (const UserError& error) {
      if (entries_.size() == 1) throw;
      throw UserError(fmt::format("entry {}: {}", quote(entry.name), error.what()));
    }
  }

  // Last, since all entries have placed their weights then.
  void print_shared_object() {
    TextWriter writer;
    for (size_t card = 0; card < card_weights_.object_of_card.size(); ++card) {
      const EmittedWeights& object = card_weights_.objects[card_weights_.object_of_card[card]];
      writer.line(fmt::format("extern const WeightBlock {} = {{{}, {}}};", device_weight_block(card), object.symbol,
                              object.bytes.size()));
    }
    for (size_t i = 0; i < entries_.size(); ++i)
      writer.line(fmt::format("namespace {} {{ extern const ModelDescription model; }}", space_of(i)));
    {
      auto entries = writer.scope("static Entry entries[] =", ";");
      for (size_t i = 0; i < entries_.size(); ++i)
        writer.line(fmt::format("{{&{}::model, &{}, {{}}, {{}}}},", space_of(i),
                                i == 0 ? "first_entry_functions" : fmt::format("entry_functions<{}>", i)));
    }
    {
      auto object = writer.scope("extern const SharedObject shared_object =", ";");
      writer.line(fmt::format(".onnxc_version = {},", c_string_literal(ONNXC_VERSION)));
      writer.line(".weights = onnxc_model_weights,");
      writer.line(fmt::format(".weights_size = {},", weights_.size()));
      writer.line(".entries = entries,");
      writer.line(fmt::format(".entry_count = {},", entries_.size()));
      if (!file_.states.empty()) writer.line(fmt::format(".state_count = {},", file_.states.size()));
    }
    file_.parts.append(writer.take(), file_.parts.add_unit(0));
  }

  const std::vector<ModelEntry>& entries_;
  File file_;
  const EmitOptions& options_;
  WeightBytes& weights_;
  const CardWeights& card_weights_;
  std::vector<std::unique_ptr<EntryEmitter>> emitters_;
  TextWriter writer_;
};

}  // namespace

// The variants come first, since the first CPU's file says how large the weights of all are.
EmittedModel emit_model(std::vector<ModelEntry> entries, const EmitOptions& options,
                        std::vector<WeightBytes> device_weights) {
  EmittedModel model;
  CardWeights card_weights(std::move(device_weights));
  FileEmitter first(entries, 0, options, model.weights, card_weights);
  for (size_t i = 0; i < entries.front().variants.size(); ++i) {
    FileEmitter emitter(entries, i + 1, options, model.weights, card_weights);
    emitter.check_agrees_with(first);
    model.variants.push_back(emitter.run());
  }
  EmittedSource own = first.run();
  model.source = std::move(own.text);
  model.parts = own.parts;
  model.device_weights = std::move(card_weights.objects);
  for (ModelEntry& entry : entries) std::ranges::move(entry.devices, std::back_inserter(model.devices));
  return model;
}

}  // namespace onnxc
