#include "codegen/cpu/step_printer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "codegen/call/typed_call.h"
#include "codegen/cpu/call/epilogue_printer.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/nests/nest_printer.h"
#include "codegen/host/step_description.h"
#include "codegen/host/step_flow.h"
#include "codegen/nests/nest_operations.h"
#include "codegen/step_title.h"
#include "ir/loops/rounding.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

// The cost of compiling one call of a kernel template, in characters of plain loops.
constexpr int64_t kernel_cost = 12'000;

class StepPrinter {
 public:
  StepPrinter(SourceParts& parts, const EmitContext& context, const machine::VectorUnit& vectors)
      : parts_(parts),
        context_(context),
        program_(context.program),
        vectors_(vectors),
        nest_names_(context.names),
        descriptions_(context),
        flow_(context) {}

  PrintedSteps run() {
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      parts_.append(step_comment(program_, i, step));
      index_ = i;
      function_ = fmt::format("step{}", i);
      print_step(step);
      parts_.append("\n");
      // Steps that the run does itself have no function.
      const std::string function = begins_level(step) ? "nullptr" : function_;
      result_.descriptions.push_back(
          descriptions_.describe(i, function, step_title(program_, step), operations_, flow_.describe(i)));
    }
    result_.definitions = descriptions_.take() + flow_.take();
    return std::move(result_);
  }

 private:
  std::string signature() const { return fmt::format("void {}(const Frame& frame)", function_); }

  void print_step(const Step& step) {
    try {
      std::visit([&](const auto& work) { print(work); }, step.work);
    } catch (const UserError& error) {
      const Origin& origin = step.origins.back();
      user_error("node {} ({}): {}", quote(origin.name), printable(origin.type), error.what());
    }
  }

  // ---------------------------------------------------------------------------------------------------------- nests

  // A nest's function, and the memory of a step that it is called for.
  struct NestUse {
    std::string function;
    SourceParts::Unit unit;
    std::vector<NestMemory> memory;
  };
  struct SharedNest {
    std::string function;
    SourceParts::Unit unit;
  };

  void print(const LoopNest& nest) {
    operations_ = floating_operations(nest);
    if (calls_string_functions(nest)) result_.headers.insert("strings/string_functions.h");
    std::vector<FlatNest> nests = fill_padding(program_, nest);
    nests.push_back(flatten(program_, nest));
    std::vector<NestUse> uses;
    for (FlatNest& flat : nests) uses.push_back(share(std::move(flat)));
    TextWriter writer;
    {
      auto scope = writer.scope(signature());
      for (size_t i = 0; i < uses.size(); ++i) {
        std::vector<std::string> pointers;
        std::ranges::transform(uses[i].memory, std::back_inserter(pointers),
                               [&](const NestMemory& memory) { return pointer(memory); });
        const std::string buffers = uses.size() == 1 ? "buffers" : fmt::format("buffers{}", i);
        writer.line(fmt::format("void* const {}[] = {{{}}};", buffers, fmt::join(pointers, ", ")));
        writer.line(fmt::format("{}(frame, {});", uses[i].function, buffers));
      }
    }
    parts_.append(writer.take(), uses.back().unit);
  }

  std::string pointer(const NestMemory& memory) const {
    const std::string storage = fmt::format("frame.buffers[{}]", context_.names.storages.at(memory.storage));
    if (memory.first == 0) return storage;
    return fmt::format("static_cast<char*>({}) + {}", storage, memory.first * element_size(memory.dtype));
  }

  NestUse share(FlatNest flat) {
    std::vector<NestMemory> memory = number_storages(flat);
    for (size_t i = 0; i < memory.size(); ++i) nest_names_.storages[static_cast<BufferId>(i)] = i;
    result_.calls_functions = true;
    const NestSchedule scheduled = schedule(std::move(flat), vectors_);
    if (!scheduled.tiles.empty()) result_.headers.insert("kernels/cpu/vector/transposed_tile.h");
    auto [known, is_new] = nests_.try_emplace(text(scheduled, "nest"));
    SharedNest& nest = known->second;
    if (is_new) {
      nest.function = fmt::format("nest{}", nests_.size() - 1);
      std::string definition = text(scheduled, nest.function);
      nest.unit = parts_.add_unit(static_cast<int64_t>(definition.size()));
      parts_.append(nest_signature(nest.function) + ";\n");
      parts_.append(std::move(definition), nest.unit);
    }
    return {nest.function, nest.unit, std::move(memory)};
  }

  std::string text(const NestSchedule& scheduled, const std::string& function) const {
    TextWriter writer;
    print_nest(writer, scheduled, function, nest_names_);
    return writer.take();
  }

  // -------------------------------------------------------------------------------------------------------- kernels

  struct SharedKernel {
    std::string name;
    SourceParts::Unit unit;
  };

  void print(const KernelCall& call) {
    const auto* spec = spec_of<CpuKernelSpec>(call);
    internal_check(spec != nullptr, "a kernel of the CPU target");
    operations_ = spec->operations();
    for (const std::string& header : spec->headers()) result_.headers.insert(header);
    result_.uses_tiles |= spec->uses_tiles();
    const KernelText text = kernel_text(context_, call);
    const auto [epilogue, members] = share_epilogues(call, spec->epilogue_form());
    const SharedKernel& kernel = share_kernel(spec->type(call, program_, epilogue));
    const std::string work = fmt::format("{}::work({})", kernel.name, spec->sizes(text));
    result_.scratch[level_].insert(work + ".scratch_bytes");
    TextWriter writer;
    {
      auto scope = writer.scope(signature());
      declare_dims(writer, {context_.symbols.begin(), context_.symbols.end()}, context_.names);
      writer.line(fmt::format("run_kernel<{}>(frame, {}.tasks, {}{});", kernel.name, work, spec->arguments(call, text),
                              epilogue.empty() ? "" : ", " + epilogue + members));
    }
    parts_.append(writer.take(), kernel.unit);
  }

  // The vector form of `negate` is in math.h, so a model that negates needs that header.
  static bool negates(const Scalar& value) {
    bool found = false;
    visit(value, [&](const ScalarNode& node) { found |= node.op == ScalarOp::negate; });
    return found;
  }

  // The type of an epilogue, and the initializer of its members; nothing for a call without one.
  std::pair<std::string, std::string> share_epilogue(const Epilogue& epilogue, EpilogueForm form) {
    if (!epilogue.value) return {};
    if (!is_light(epilogue.value, form) || negates(epilogue.value)) result_.calls_functions = true;
    TextWriter unnamed;
    const std::string members = print_epilogue(unnamed, context_, epilogue, form, vectors_, "Epilogue");
    auto [known, is_new] = epilogues_.try_emplace(unnamed.take(), fmt::format("Epilogue{}", epilogues_.size()));
    if (is_new) {
      TextWriter writer;
      print_epilogue(writer, context_, epilogue, form, vectors_, known->second);
      parts_.append(writer.take());
    }
    return {known->second, members};
  }

  // The kernel's store rounds the result to the type of the output itself.
  static Epilogue without_rounding(Epilogue epilogue) {
    epilogue.value = before_rounding(epilogue.value);
    return epilogue;
  }

  // Two if the kernel has one for a result that it keeps to itself.
  std::pair<std::string, std::string> share_epilogues(const KernelCall& call, EpilogueForm form) {
    auto outer = share_epilogue(without_rounding(call.epilogue), form);
    if (!call.inner_epilogue.value) return outer;
    const auto inner = share_epilogue(call.inner_epilogue, form);
    return {fmt::format("TwoEpilogues<{}, {}>", inner.first, outer.first),
            fmt::format("{{{}{}, {}{}}}", inner.first, inner.second, outer.first, outer.second)};
  }

  const SharedKernel& share_kernel(const std::string& type) {
    auto [known, is_new] = kernels_.try_emplace(type);
    SharedKernel& kernel = known->second;
    if (is_new) {
      kernel = {fmt::format("Kernel{}", kernels_.size() - 1), parts_.add_unit(kernel_cost)};
      parts_.append(fmt::format("using {} = {};\n", kernel.name, type));
    }
    return kernel;
  }

  // Not functions that run, but what the runtime asks.
  void begin_level() {
    operations_ = 0;
    ++level_;
  }
  void print(const SymbolBinding&) { begin_level(); }
  void print(const LoopBegin&) { begin_level(); }
  void print(const LoopEnd&) { begin_level(); }

  SourceParts& parts_;
  const EmitContext& context_;
  const Program& program_;
  machine::VectorUnit vectors_;
  ModelNames nest_names_;  // of nests whose storages are numbered
  StepDescriptionPrinter descriptions_;
  std::map<std::string, SharedNest> nests_;  // by text
  std::map<std::string, SharedKernel> kernels_;
  std::map<std::string, std::string> epilogues_;
  size_t index_ = 0;
  int level_ = 0;
  std::string function_;
  StepFlowPrinter flow_;
  Expr operations_;
  PrintedSteps result_;
};

}  // namespace

PrintedSteps print_steps(SourceParts& parts, const EmitContext& context, const machine::VectorUnit& vectors) {
  return StepPrinter(parts, context, vectors).run();
}

}  // namespace onnxc
