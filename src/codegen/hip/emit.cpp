#include "codegen/hip/emit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "codegen/call/typed_call.h"
#include "codegen/hip/call/epilogue_printer.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/gemm_choice.h"
#include "codegen/hip/nests/nest_printer.h"
#include "codegen/hip/volume/volume_kernels.h"
#include "codegen/host/buffer_table.h"
#include "codegen/host/model_interface.h"
#include "codegen/host/step_description.h"
#include "codegen/host/step_flow.h"
#include "codegen/step_title.h"
#include "machine/gpu_machines.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

class HipEmitter {
 public:
  HipEmitter(const Program& program, const HipEmitOptions& options, WeightBytes& weights)
      : program_(program),
        options_(options),
        suffix_(options.card == 0 ? "" : std::to_string(options.card)),
        context_(program),
        weights_(weights),
        volume_kernels_(program) {}

  EmittedDevice run() {
    {
      auto host_namespace = host_.scope("namespace hip" + suffix_);
      host_.line(fmt::format("constexpr machine::GpuMachine planned_gpu = machine::{};", identifier(options_.machine)));
      host_.line("");
      for (size_t i = 0; i < program_.steps.size(); ++i) print_step(i, program_.steps[i]);
      print_sizes(host_, context_, {});
      host_.line("");
      print_buffers();
      host_.append(descriptions_.take());
      host_.append(flow_.take());
      host_.array("StepDescription", "steps", steps_);
    }
    host_.line("");
    EmittedDevice emitted;
    emitted.machine = options_.machine;
    emitted.is_cubin = options_.is_cubin;
    emitted.program = "device_program" + suffix_;
    emitted.card = options_.card;
    emitted.entry = options_.entry;
    const size_t first_of_volumes = kernels_.size();
    print_volume_kernels();
    print_program(emitted.program, first_of_volumes);
    emitted.source = device_header() + device_.take() + "}  // namespace onnxc::kernels\n";
    emitted.host = host_.take();
    emitted.host_headers = {host_headers_.begin(), host_headers_.end()};
    emitted.kernels = std::move(reported_);
    return emitted;
  }

 private:
  std::string device_header() const {
    TextWriter writer;
    writer.line(fmt::format("// The GPU code of a model compiled by onnxc {}.", ONNXC_VERSION));
    writer.line(fmt::format("//   model    {}", options_.model_hash));
    writer.line(fmt::format("//   target   {}", target_text(options_.machine, options_.is_cubin)));
    writer.line(fmt::format("//   options  {}", comment_text(options_.options)));
    for (const std::string& line : options_.build_lines) writer.line("// " + line);
    writer.line("");
    writer.line("#include \"kernels/hip/wave/nest.h\"");
    for (const std::string& header : device_headers_) writer.line(fmt::format("#include \"{}\"", header));
    writer.line("");
    writer.line("namespace onnxc::kernels {");
    writer.line("");
    return writer.take();
  }

  struct SharedKernel {
    size_t number;
    std::string name;
  };

  void print_step(size_t index, const Step& step) {
    const std::string comment = step_comment(program_, index, step);
    host_.append(comment);
    comment_ = comment;
    const std::string function = fmt::format("step{}", index);
    title_ = step_title(program_, step);
    std::visit([&](const auto& work) { print(work, function); }, step.work);
    host_.line("");
    const std::string launch = begins_level(step) ? "nullptr" : function;
    steps_.push_back(
        descriptions_.describe(index, "nullptr", title_, std::nullopt,
                               fmt::format("{}, {}, {}", flow_.describe(index), launch, place_read_by_host(step))));
  }

  // Conditions and sizes are read on the host.
  int64_t place_read_by_host(const Step& step) const {
    const std::optional<BufferId> read = read_by_host(step);
    return read ? static_cast<int64_t>(context_.place(*read)) : -1;
  }

  static std::string signature(const std::string& function) {
    return fmt::format("static void {}(const DeviceFrame& frame)", function);
  }

  // ---------------------------------------------------------------------------------------------------------- nests

  void print(const LoopNest& nest, const std::string& function) {
    std::vector<FlatNest> nests = fill_padding(program_, nest);
    nests.push_back(flatten(program_, nest));
    TextWriter body(host_.indentation() + 1);
    for (FlatNest& flat : nests) {
      const std::vector<NestMemory> memory = number_storages(flat);
      const DeviceSchedule schedule = schedule_for_device(std::move(flat), options_.machine);
      const SharedKernel& kernel = share_kernel(schedule);
      report(kernel, title_, nest_figures());
      auto block = body.scope("");
      print_launch(body, schedule, kernel.name, kernel.number, memory, context_.names);
    }
    auto scope = host_.scope(signature(function));
    host_.append(body.take());
  }

  // Steps that run equal loops share one kernel.
  const SharedKernel& share_kernel(const DeviceSchedule& schedule) {
    TextWriter unnamed;
    print_device_kernel(unnamed, schedule, "nest", context_.names);
    auto [known, is_new] = shared_.try_emplace(unnamed.take());
    SharedKernel& kernel = known->second;
    if (!is_new) return kernel;
    kernel = add_kernel("nest");
    print_arguments_type(device_, schedule, kernel.name, context_.names);
    print_device_kernel(device_, schedule, kernel.name, context_.names);
    device_.line("");
    print_arguments_type(host_, schedule, kernel.name, context_.names);
    return kernel;
  }

  SharedKernel add_kernel(const std::string& stem) {
    SharedKernel kernel{kernels_.size(), fmt::format("{}{}", stem, kernels_.size())};
    kernels_.push_back(c_string_literal(kernel.name));
    device_.append(comment_);
    return kernel;
  }

  // For the loops of the step that is printed, if the sizes of what they read and write are known.
  std::optional<KernelFigures> nest_figures() const {
    const Step& step = program_.steps.at(steps_.size());
    int64_t bytes = 0;
    for (const std::vector<BufferId>& ids : {reads(step), writes(step)})
      for (const BufferId id : ids) {
        const Buffer& buffer = program_.buffer(id);
        const std::optional<int64_t> count = buffer.layout.element_count(buffer.shape).constant();
        if (!count) return std::nullopt;
        bytes += *count * element_size(buffer.dtype);
      }
    const GpuEstimate estimate = estimate_memory(bytes, options_.machine);
    return KernelFigures{0, 1, Expected{estimate.microseconds, describe(estimate.bound)}};
  }

  // Notes a launch of the kernel by the step that is printed.
  void report(const SharedKernel& kernel, const std::string& description,
              const std::optional<KernelFigures>& figures = std::nullopt) {
    if (kernel.number == reported_.size()) reported_.push_back({kernel.name, description, {}, figures});
    reported_.at(kernel.number).steps.push_back(steps_.size());
  }

  // -------------------------------------------------------------------------------------------------------- kernels

  void print(const KernelCall& call, const std::string& function) {
    const auto* spec = spec_of<HipKernelSpec>(call);
    internal_check(spec != nullptr, "a kernel of the HIP target");
    device_headers_.insert(spec->device_header());
    host_headers_.insert(spec->host_header());
    const std::string arguments_type = spec->arguments_type(call, program_);
    TextWriter unnamed;
    const std::string members = print_epilogues(unnamed, call, *spec, "", EpilogueSide::device);
    const std::string instance = spec->function(call, program_);
    const std::vector<DeviceFunction> further = spec->further(call, program_);
    std::string key = fmt::format("{}({}) ", instance, arguments_type);
    for (const DeviceFunction& next : further) key += next.instance + " ";
    key += unnamed.take();
    auto [known, is_new] = shared_.try_emplace(key);
    SharedKernel& kernel = known->second;
    if (is_new) {
      kernel = add_kernel("kernel");
      launch_lds_bytes_[kernel.number] = spec->figures().launch_lds_bytes;
      const bool has_inner = static_cast<bool>(call.inner_epilogue.value);
      print_kernel_types(device_, call, *spec, arguments_type, kernel.number, EpilogueSide::device);
      const KernelFigures planned = spec->figures();
      device_.line(
          fmt::format("// planned: {} bytes of LDS, {} wavefronts a SIMD unit", planned.lds_bytes, planned.waves));
      const std::string bounds = register_bounds(*spec, planned);
      print_global_function(kernel.name, kernel.number, bounds, instance, has_inner);
      for (size_t i = 0; i < further.size(); ++i)
        print_global_function(add_kernel(further_stems.at(i)).name, kernel.number,
                              register_bounds(*spec, further[i].figures), further[i].instance, has_inner);
      device_.line("");
      print_kernel_types(host_, call, *spec, arguments_type, kernel.number, EpilogueSide::host);
    }
    report(kernel, title_, spec->figures());
    auto scope = host_.scope(signature(function));
    declare_dims(host_, {context_.symbols.begin(), context_.symbols.end()}, context_.names);
    host_.line(fmt::format("const Kernel{}_arguments arguments{{{}, {}}};", kernel.number,
                           spec->arguments(call, kernel_text(context_, call)), members));
    auto launch = [&](size_t number, const std::string& blocks) {
      host_.line(fmt::format("launch_blocks(frame, {}, {}, nest_threads, arguments);", number, blocks));
    };
    launch(kernel.number, spec->blocks());
    for (size_t i = 0; i < further.size(); ++i) {
      const size_t number = kernel.number + 1 + i;
      report({number, fmt::format("{}{}", further_stems.at(i), number)},
             fmt::format("{} launch of {}", further_stems.at(i), title_), further[i].figures);
      launch(number, further[i].blocks);
    }
  }

  static constexpr std::array<const char*, 3> further_stems = {"second", "third", "fourth"};

  // The attributes by which the compiler deals out registers: on NVIDIA's GPUs for so many blocks of a unit.
  std::string register_bounds(const HipKernelSpec& spec, const std::optional<KernelFigures>& planned) const {
    const machine::GpuMachine& gpu = options_.machine;
    if (gpu.vendor == machine::Vendor::nvidia)
      return fmt::format("__launch_bounds__(nest_threads, {})",
                         planned ? std::max<int64_t>(planned->waves / kernels::block_waves(gpu), 1) : 1);
    return fmt::format("__launch_bounds__(nest_threads) {}",
                       spec.wants_registers() ? "ONNXC_ONLY_TWO_WAVES" : "ONNXC_PLANNED_WAVES");
  }

  // `number` is that of the kernel whose arguments it takes.
  void print_global_function(const std::string& name, size_t number, const std::string& bounds,
                             const std::string& instance, bool has_inner) {
    device_.line(
        fmt::format("extern \"C\" __global__ {} void {}(Kernel{}_arguments arguments) {{ {}(arguments.call, "
                    "{}arguments.epilogue); }}",
                    bounds, name, number, instance, has_inner ? "arguments.inner, " : ""));
  }

  // The structures of a call's epilogues, with `number` in their names; returns the initializers of their members.
  std::string print_epilogues(TextWriter& writer, const KernelCall& call, const HipKernelSpec& spec,
                              const std::string& number, EpilogueSide side) {
    auto print = [&](const Epilogue& epilogue, const std::vector<std::string>& coordinates, const char* name) {
      return print_device_epilogue(writer, context_, epilogue, coordinates, name + number, side);
    };
    std::string inner;
    if (call.inner_epilogue.value)
      inner = print(call.inner_epilogue, spec.inner_coordinates(call.inner_epilogue.axes.size()), "Inner") + ", ";
    return inner + print(call.epilogue, spec.coordinates(call.epilogue.axes.size()), "Epilogue");
  }

  void print_kernel_types(TextWriter& writer, const KernelCall& call, const HipKernelSpec& spec,
                          const std::string& arguments_type, size_t number, EpilogueSide side) {
    print_epilogues(writer, call, spec, std::to_string(number), side);
    auto structure = writer.scope(fmt::format("struct Kernel{}_arguments", number), ";");
    writer.line(arguments_type + " call;");
    if (call.inner_epilogue.value) writer.line(fmt::format("Inner{} inner;", number));
    writer.line(fmt::format("Epilogue{} epilogue;", number));
  }

  // A step that the host decides has no function.
  template <class Flow>
  void print(const Flow&, const std::string&) {}

  void print_buffers() { host_.array("BufferDescription", "buffers", buffer_table(context_, weights_)); }

  void print_volume_kernels() {
    if (volume_kernels_.empty()) return;
    for (const std::string& header : VolumeKernels::headers()) device_headers_.insert(header);
    device_.line("// For runs over whole volumes.");
    volume_kernels_.print(device_);
    device_.line("");
    for (const VolumeKernels::Kernel& kernel : volume_kernels_.kernels()) {
      kernels_.push_back(c_string_literal(kernel.name));
      reported_.push_back({kernel.name, kernel.description, {}, std::nullopt});
    }
  }

  // The name of the table; empty if no launch asks for LDS.
  std::string print_launch_lds_bytes() {
    std::vector<std::string> bytes(kernels_.size(), "0");
    bool is_needed = false;
    for (const auto& [kernel, asked] : launch_lds_bytes_) {
      bytes.at(kernel) = std::to_string(asked);
      is_needed |= asked > 0;
    }
    if (!is_needed) return "";
    std::string name = "device_shared_bytes" + suffix_;
    host_.array("uint32_t", name, bytes);
    return name;
  }

  void print_program(const std::string& name, size_t first_of_volumes) {
    const std::string code = device_code_symbol(options_.machine, options_.entry), space = "hip" + suffix_ + "::";
    host_.array("char* const", "device_kernels" + suffix_, kernels_);
    const std::string shared_bytes = print_launch_lds_bytes();
    host_.line(fmt::format("extern \"C\" const unsigned char {}[];", code));
    auto program = host_.scope(fmt::format("static const DeviceProgram {} =", name), ";");
    auto field = [&](const char* key, const std::string& value) { host_.line(fmt::format(".{} = {},", key, value)); };
    field("architecture", c_string_literal(code_architecture(options_.machine, options_.is_cubin)));
    field("compute_units", space + "planned_gpu.compute_units");
    field("code_object", code);
    field("kernels", "device_kernels" + suffix_);
    field("kernel_count", std::to_string(kernels_.size()));
    if (!volume_kernels_.empty()) field("volume", volume_kernels_.numbers(first_of_volumes));
    if (!shared_bytes.empty()) field("shared_bytes", shared_bytes);
    field("level_count", std::to_string(context_.level_count()));
    field("sizes", space + "sizes");
    field("buffer_count", std::to_string(context_.storages.size()));
    field("buffers", space + "buffers");
    field("step_count", std::to_string(steps_.size()));
    field("steps", space + "steps");
    field("weights", "&" + device_weight_block(options_.card));
  }

  const Program& program_;
  const HipEmitOptions& options_;
  const std::string suffix_;  // of the names that each of several programs has
  EmitContext context_;
  WeightBytes& weights_;  // of the card
  const VolumeKernels volume_kernels_;
  TextWriter device_, host_;
  StepDescriptionPrinter descriptions_{context_, 1};
  StepFlowPrinter flow_{context_};
  std::set<std::string> device_headers_, host_headers_ = {"kernels/hip/wave/launch.h"};
  // The step that is printed; the comment stands over the kernel that it is the first to use.
  std::string comment_, title_;
  std::map<std::string, SharedKernel> shared_;  // by the text of the kernel
  std::vector<std::string> kernels_, steps_;
  std::map<size_t, int64_t> launch_lds_bytes_;  // by the number of the kernel
  std::vector<DeviceKernel> reported_;
};

}  // namespace

std::string identifier(const machine::GpuMachine& gpu) {
  std::string name = gpu.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string device_code_symbol(const machine::GpuMachine& gpu, size_t entry) {
  return "onnxc_device_code_" + identifier(gpu) + (entry == 0 ? "" : fmt::format("_entry{}", entry));
}

std::string device_weight_block(size_t card) { return fmt::format("device_weights{}", card); }

std::string code_architecture(const machine::GpuMachine& gpu, bool is_cubin) {
  return is_cubin ? machine::cubin_architecture(gpu) : gpu.architecture;
}

std::string target_text(const machine::GpuMachine& gpu, bool is_cubin) {
  const char* const language = gpu.vendor == machine::Vendor::nvidia ? "cuda" : "hip";
  return fmt::format("{} {}{}{}", language, code_architecture(gpu, is_cubin), is_cubin ? " cubin" : "",
                     machine::is_default_card(gpu) ? "" : fmt::format(" ({})", gpu.name));
}

EmittedDevice emit_hip(const Program& program, const HipEmitOptions& options, WeightBytes& weights) {
  return HipEmitter(program, options, weights).run();
}

}  // namespace onnxc
