// Programs run as users' models run: emitted, compiled by clang, loaded, on threads; and compared with the interpreter.
// All programs of a test become one model, so that they share one compile.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "codegen/cpu/cpu_target.h"
#include "codegen/model/emit.h"
#include "ir/interpreter/interpreter.h"
#include "onnxc.h"
#include "onnxc_run/session.h"
#include "passes/program/take_nests.h"
#include "support/diagnostics.h"
#include "support/temporary_folder.h"
#include "toolchain/march.h"
#include "toolchain/toolchain.h"

namespace onnxc {

// Appends the buffers, steps, inputs and outputs of `from`, under new buffer ids. Steps are loops.
inline void append_program(Program& to, const Program& from) {
  const auto first = static_cast<BufferId>(to.buffers.size());
  auto moved = [&](const Scalar& scalar) {
    return replace_loads(
        scalar, [&](const ScalarNode& load) { return scalar::load(load.dtype, load.buffer + first, load.indices); });
  };
  for (Buffer buffer : from.buffers) {
    if (buffer.view) buffer.view->parent += first;
    if (buffer.alias) buffer.alias->parent += first;
    to.add(std::move(buffer));
  }
  for (BufferId id : from.inputs) to.inputs.push_back(id + first);
  for (BufferId id : from.outputs) to.outputs.push_back(id + first);
  for (const Step& step : from.steps) {
    LoopNest nest = std::get<LoopNest>(step.work);
    for (Let& let : nest.lets) let.value = moved(let.value);
    for (Accumulator& accumulator : nest.accumulators) accumulator.element = moved(accumulator.element);
    for (Store& store : nest.stores) {
      store.buffer += first;
      store.value = moved(store.value);
      store.condition = moved(store.condition);
    }
    to.steps.push_back({std::move(nest), step.origins});
  }
}

// A model.so in memory, for one run. Nests that have a kernel are its calls, as in a compile.
class CompiledModel {
 public:
  explicit CompiledModel(Program program) {
    const CpuMachine machine = resolve_march("native");
    const std::filesystem::path path = folder_.path() / "model.so";
    take_nests(program, cpu_target(machine));
    build_shared_object(emit_model({{"test", "test", program}}, {machine, "test", {}}), {machine}, path);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    internal_check(library_ != nullptr, "a model.so that loads");
    api_ = reinterpret_cast<onnxc_get_api_function>(dlsym(library_, "onnxc_get_api"))(ONNXC_ABI_VERSION);
  }
  ~CompiledModel() { dlclose(library_); }
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;

  // Outputs and working memory hold NaN before.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& like, int threads) const {
    onnxc_options options = {};
    options.struct_size = sizeof options;
    options.flags = ONNXC_POISON;
    options.threads = threads;
    onnxc_instance* instance = nullptr;
    char error[ONNXC_ERROR_SIZE] = "";
    EXPECT_EQ(api_->create(&options, &instance, error, sizeof error), ONNXC_OK) << error;
    std::vector<Tensor> outputs;
    std::vector<onnxc_value> input_values, output_values;
    for (const Tensor& input : inputs) input_values.push_back(value_of(input, input));
    for (const Tensor& tensor : like) outputs.push_back(Tensor::zeros(tensor.dtype(), tensor.dims()));
    for (const Tensor& output : outputs) output_values.push_back(value_of(output, output));
    const onnxc_status status = api_->run(instance, input_values.data(), static_cast<int32_t>(input_values.size()),
                                          output_values.data(), static_cast<int32_t>(output_values.size()), nullptr);
    EXPECT_EQ(status, ONNXC_OK) << api_->last_error(instance);
    api_->destroy(instance);
    return outputs;
  }

 private:
  TemporaryFolder folder_{"test"};
  void* library_;
  const onnxc_api* api_;
};

class CompiledPrograms {
 public:
  struct Run {
    std::vector<Tensor> inputs;
    std::map<Symbol, int64_t> dims = {};
  };

  // `tolerance`: of each element, relative to the largest magnitude; 0 asks for the same bits.
  void add(const std::string& name, const Program& program, const std::vector<Run>& runs, double tolerance = 0) {
    SCOPED_TRACE(name);
    verify(program);
    Case added{name, tolerance, {}, {}};
    for (const Run& run : runs) {
      added.inputs.push_back(run.inputs);
      added.expected.push_back(interpret(program, run.dims, run.inputs));
    }
    cases_.push_back(std::move(added));
    append_program(merged_, program);
  }
  void add(const std::string& name, const Program& program, std::vector<Tensor> inputs, double tolerance = 0) {
    add(name, program, {Run{std::move(inputs), {}}}, tolerance);
  }

  // Compiles all, and runs the first run of each, the second of each, ... with one thread and with three.
  void expect_same_as_interpreter() const {
    const CompiledModel model(merged_);
    size_t runs = 0;
    for (const Case& added : cases_) runs = std::max(runs, added.inputs.size());
    for (size_t run = 0; run < runs; ++run) expect_same_as_interpreter(model, run);
  }

 private:
  struct Case {
    std::string name;
    double tolerance;
    std::vector<std::vector<Tensor>> inputs, expected;  // of each run

    size_t run(size_t i) const { return std::min(i, inputs.size() - 1); }
  };

  void expect_same_as_interpreter(const CompiledModel& model, size_t run) const {
    std::vector<Tensor> inputs, expected;
    for (const Case& added : cases_) {
      const std::vector<Tensor>&own_inputs = added.inputs[added.run(run)],
            &own_expected = added.expected[added.run(run)];
      inputs.insert(inputs.end(), own_inputs.begin(), own_inputs.end());
      expected.insert(expected.end(), own_expected.begin(), own_expected.end());
    }
    const std::vector<Tensor> alone = model.run(inputs, expected, 1), threaded = model.run(inputs, expected, 3);
    size_t output = 0;
    for (const Case& added : cases_)
      for (size_t i = 0; i < added.expected[0].size(); ++i, ++output) {
        SCOPED_TRACE(fmt::format("{}, run {}, output {}", added.name, run, i));
        expect_equal(alone[output], expected[output], added.tolerance);
        EXPECT_TRUE(std::ranges::equal(alone[output].bytes(), threaded[output].bytes()))
            << "the result depends on the threads";
      }
  }

  static void expect_equal(const Tensor& found, const Tensor& expected, double tolerance) {
    if (tolerance == 0 && std::ranges::equal(found.bytes(), expected.bytes())) return;
    const std::vector<double> a = found.as_double(), b = expected.as_double();
    double largest = 0;
    for (double value : b)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    int wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const bool equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
      if (!equal && !(std::abs(a[i] - b[i]) <= tolerance * largest) && ++wrong <= 3)
        ADD_FAILURE() << "element " << i << " is " << a[i] << " instead of " << b[i];
    }
    EXPECT_EQ(wrong, 0) << "of " << a.size() << " elements";
  }

  Program merged_;
  std::vector<Case> cases_;
};

}  // namespace onnxc
