// gfx942sim: runs one kernel of a code object on the CPU.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstring>
#include <optional>

#include "gfx942sim/dispatch.h"
#include "gfx942sim/operations/operation_table.h"
#include "gfx942sim/reports/time_model.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"

namespace gfx942sim {
namespace {

using onnxc::UsageError;
using onnxc::UserError;

enum ExitCode { done = 0, user_fault = 1, usage_fault = 2, our_fault = 3 };

struct Options {
  std::string code_object;
  std::string kernel;
  std::vector<uint32_t> grid = {1};
  std::vector<uint32_t> block = {64};
  std::vector<std::string> arguments;
  uint32_t dynamic_lds = 0;
  int threads = 0;
  bool list = false;
  bool counts = false;
};

constexpr const char* argument_help =
    "in the kernel's order: i32:N, i64:N, f32:X; in:FILE (a buffer with the file's bytes), out:BYTES:FILE (a buffer "
    "that is "
    "written to the file afterwards), inout:FILE:FILE";

// The kernel's arguments as they are packed, and the buffers that are read back.
class Arguments {
 public:
  Arguments(DeviceMemory& memory, const Kernel& kernel) : memory_(memory) {
    for (const KernelArgument& argument : kernel.arguments)
      if (!argument.kind.starts_with("hidden_")) slots_.push_back(argument);
  }

  void add(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon), rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (kind == "i32")
      add_value(parse<int32_t>(text, rest));
    else if (kind == "i64")
      add_value(parse<int64_t>(text, rest));
    else if (kind == "f32")
      add_value(parse<float>(text, rest));
    else if (kind == "in")
      add_buffer(onnxc::map_file(rest)->bytes(), rest);
    else if (kind == "out" || kind == "inout")
      add_output(text, kind, rest);
    else
      throw UsageError(fmt::format("--arg {}: expected one of i32, i64, f32, in, out, inout before a colon", text));
  }

  // Called before any of them is added: UserError if a file to write is one that is read.
  static void check_files(const std::vector<std::string>& texts, const std::string& code_object) {
    onnxc::InputFiles inputs;
    inputs.add("CODE_OBJECT", code_object);
    for (const std::string& text : texts) {
      if (text.starts_with("in:")) inputs.add("--arg", text.substr(3));
      if (text.starts_with("inout:")) inputs.add("--arg", text.substr(6, text.rfind(':') - 6));
    }
    for (const std::string& text : texts)
      if (text.starts_with("out:") || text.starts_with("inout:"))
        inputs.check_output("--arg", text.substr(text.rfind(':') + 1));
  }

  std::span<const std::byte> packed() const {
    onnxc::user_check(next_ == slots_.size(), "the kernel takes {} arguments, but {} are given with --arg",
                      slots_.size(), next_);
    return bytes_;
  }

  void write_outputs() const {
    for (const auto& [allocation, file] : outputs_) {
      onnxc::OutputFile output(file);
      output.write(std::span(allocation->bytes, allocation->size));
      output.commit();
    }
  }

 private:
  template <class T>
  static T parse(const std::string& argument, const std::string& text) {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw UsageError(fmt::format("--arg {}: '{}' is not a number that fits", argument, text));
    return value;
  }

  template <class T>
  void add_value(T value) {
    onnxc::user_check(next_ < slots_.size(), "the kernel takes {} arguments, but more are given with --arg",
                      slots_.size());
    const KernelArgument& slot = slots_[next_];
    onnxc::user_check(slot.size == sizeof value, "argument {} of the kernel has {} bytes, but --arg gives {}", next_,
                      slot.size, sizeof value);
    bytes_.resize(std::max<size_t>(bytes_.size(), slot.offset + slot.size));
    std::memcpy(bytes_.data() + slot.offset, &value, sizeof value);
    ++next_;
  }

  const Allocation* add_buffer(std::span<const std::byte> content, const std::string& name) {
    const Allocation* allocation = memory_.allocate(content.size(), fmt::format("argument {} ({})", next_, name));
    onnxc::user_check(allocation != nullptr, "the device has no room for {} bytes", content.size());
    std::memcpy(allocation->bytes, content.data(), content.size());
    add_value(allocation->address);
    return allocation;
  }

  void add_output(const std::string& argument, const std::string& kind, const std::string& rest) {
    const size_t colon = rest.find(':');
    if (colon == std::string::npos) throw UsageError(fmt::format("--arg {}: a file to write is missing", argument));
    const std::string first = rest.substr(0, colon), file = rest.substr(colon + 1);
    if (kind == "inout") {
      outputs_.emplace_back(add_buffer(onnxc::map_file(first)->bytes(), first), file);
      return;
    }
    const Allocation* allocation =
        memory_.allocate(parse<uint64_t>(argument, first), fmt::format("argument {} ({})", next_, file));
    onnxc::user_check(allocation != nullptr, "the device has no room for {} bytes", first);
    add_value(allocation->address);
    outputs_.emplace_back(allocation, file);
  }

  DeviceMemory& memory_;
  std::vector<KernelArgument> slots_;
  size_t next_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::pair<const Allocation*, std::string>> outputs_;
};

std::array<uint32_t, 3> three(const std::vector<uint32_t>& values) {
  std::array<uint32_t, 3> result = {1, 1, 1};
  std::copy_n(values.begin(), std::min<size_t>(values.size(), 3), result.begin());
  return result;
}

void list_kernels(const CodeObject& code_object) {
  for (const Kernel& kernel : code_object.kernels)
    fmt::print(
        "{}: {} vector registers, {} accumulators, {} bytes of LDS, {} of scratch, {} of arguments, at most {} "
        "threads\n",
        kernel.name, kernel.vector_registers, kernel.accumulators, kernel.lds_bytes, kernel.scratch_bytes,
        kernel.argument_bytes, kernel.max_threads);
}

void print_counts(const Launch& launch, const Counts& counts) {
  fmt::print("waves {}, barriers {}\n", counts.waves, counts.barriers);
  constexpr std::pair<Unit, const char*> units[] = {{Unit::matrix, "matrix"},
                                                    {Unit::vector, "vector"},
                                                    {Unit::transcendental, "transcendental"},
                                                    {Unit::scalar, "scalar"},
                                                    {Unit::lds, "lds"},
                                                    {Unit::vector_memory, "vector memory"},
                                                    {Unit::scalar_memory, "scalar memory"},
                                                    {Unit::control, "control"}};
  for (const auto& [unit, name] : units)
    fmt::print("{:14} {:12} instructions {:12} cycles\n", name, counts.of_unit(unit), counts.cycles_of_unit(unit));
  fmt::print("lds            {:12} bytes, {} cycles, {} of them conflicts\n", counts.lds_bytes, counts.lds_cycles,
             counts.lds_conflict_cycles);
  fmt::print("memory         {:12} bytes loaded in {} lines, {} stored in {} lines\n", counts.loaded_bytes,
             counts.load_lines, counts.stored_bytes, counts.store_lines);
  fmt::print("caches         {:12} lines miss L1; {} different lines loaded, {} stored\n", counts.l1_misses,
             counts.different_loaded_lines, counts.different_stored_lines);
  const Occupancy held = occupancy(launch);
  fmt::print("occupancy      {:12} waves a SIMD by registers, {} groups a compute unit\n", held.waves_per_simd,
             held.groups_per_unit);
  const ModelledTime time = modelled_time(launch, counts);
  fmt::print("modelled time  {:12.3f} us on an MI300X, bound by {}; in cycles:", time.microseconds(),
             to_text(time.bound));
  for (int i = 0; i < bound_count; ++i) fmt::print(" {} {:.0f}", to_text(static_cast<Bound>(i)), time.cycles[i]);
  fmt::print("\nsimulated in   {:12.3f} seconds of a core", counts.simulation_seconds);
  if (counts.matrix_flops() > 0)
    fmt::print(": {:.2f} GFLOP/s a core",
               static_cast<double>(counts.matrix_flops()) / counts.simulation_seconds * 1e-9);
  fmt::print("\n");
  for (size_t i = 0; i < counts.executions.size(); ++i)
    if (counts.executions[i]) fmt::print("  {:30} {}\n", all_operations()[i].name, counts.executions[i]);
}

void execute(const Options& options) {
  Arguments::check_files(options.arguments, options.code_object);
  DeviceMemory memory;
  const LoadedModule module(memory, onnxc::map_file(options.code_object)->bytes());
  if (options.list) {
    list_kernels(module.code_object());
    return;
  }
  if (options.kernel.empty()) throw UsageError("--kernel NAME is missing (--list shows the kernels)");
  Launch launch{.kernel = module.code_object().find_kernel(options.kernel),
                .grid = three(options.grid),
                .block = three(options.block),
                .dynamic_lds_bytes = options.dynamic_lds};
  onnxc::user_check(launch.kernel != nullptr, "{} has no kernel {} (--list shows them)", options.code_object,
                    options.kernel);
  Arguments arguments(memory, *launch.kernel);
  for (const std::string& argument : options.arguments) arguments.add(argument);
  const Counts counts = dispatch(memory, module, launch, arguments.packed(),
                                 {.threads = options.threads, .races = races_from_environment()});
  arguments.write_outputs();
  if (options.counts) print_counts(launch, counts);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a kernel of a gfx942 code object on the CPU, strictly.", "gfx942sim");
  app.add_option("code_object", options.code_object, "the ELF file")->required();
  app.add_option("--kernel", options.kernel, "the kernel's name");
  app.add_option("--grid", options.grid, "work groups: X,Y,Z")->delimiter(',')->expected(1, 3);
  app.add_option("--block", options.block, "threads of a work group: X,Y,Z")->delimiter(',')->expected(1, 3);
  app.add_option("--arg", options.arguments, argument_help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--dynamic-lds", options.dynamic_lds, "bytes of LDS beyond the kernel's own");
  app.add_option("--threads", options.threads, "of the CPU; all by default");
  app.add_flag("--list", options.list, "lists the kernels");
  app.add_flag("--counts", options.counts, "prints what the kernel did");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? done : usage_fault;
  }
  try {
    execute(options);
    return done;
  } catch (const UsageError& error) {
    fmt::print(stderr, "gfx942sim: {} (gfx942sim --help lists the options)\n", error.what());
    return usage_fault;
  } catch (const UserError& error) {
    fmt::print(stderr, "gfx942sim: {}\n", error.what());
    return user_fault;
  } catch (const SimulationFault& fault) {
    fmt::print(stderr, "{}", fault.what());
    return user_fault;
  } catch (const std::exception& error) {
    fmt::print(stderr, "gfx942sim: a bug of the simulator: {}\n", error.what());
    return our_fault;
  }
}

}  // namespace
}  // namespace gfx942sim

int main(int argc, char** argv) { return gfx942sim::run(argc, argv); }
