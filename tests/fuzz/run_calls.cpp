#include "fuzz/run_calls.h"

#include <dlfcn.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "onnxc.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc::fuzz {
namespace {

constexpr size_t width = 4, input_count = 2, value_count = 4;  // of the fake model: x, k; y, z

const onnxc_api& fake_model() {
  static const onnxc_api* const api = [] {
    void* library = dlopen(ONNXC_TEST_FILES "/fake_model.so", RTLD_NOW | RTLD_LOCAL);
    internal_check(library != nullptr, "the fake model is built beside its tests");
    return reinterpret_cast<onnxc_get_api_function>(dlsym(library, "onnxc_get_api"))(ONNXC_ABI_VERSION);
  }();
  return *api;
}

onnxc_instance* new_instance() {
  onnxc_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  onnxc_instance* instance = nullptr;
  internal_check(fake_model().create(&options, &instance, nullptr, 0) == ONNXC_OK, "an instance");
  return instance;
}

// A value with the memory that it points to.
struct Argument {
  std::vector<int64_t> dims;
  std::vector<std::byte> memory;
  onnxc_value value = {};

  const float* floats() const { return static_cast<const float*>(value.data); }
  // The bytes that the tensor needs; more bytes may follow it.
  bool overlaps(const Argument& other, int64_t needed, int64_t others_needed) const {
    const auto *begin = static_cast<const std::byte*>(value.data),
               *from = static_cast<const std::byte*>(other.value.data);
    return needed > 0 && others_needed > 0 && begin < from + others_needed && from < begin + needed;
  }
};

class Caller {
 public:
  explicit Caller(std::string_view bytes)
      : from_(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), arguments_(value_count) {}

  bool run() {
    const auto rows = from_.ConsumeIntegralInRange<int64_t>(0, 9);
    fill(arguments_[0], {rows, width});
    fill(arguments_[1], {width});
    fill(arguments_[2], {rows, width});
    fill(arguments_[3], {rows});
    if (rarely()) pick().value.data = pick().value.data;
    share_memory();
    std::array<onnxc_value, value_count> values;
    for (size_t i = 0; i < value_count; ++i) values[i] = arguments_[i].value;
    static onnxc_instance* const instance = new_instance();  // its plan outlives a run
    ask_dims(instance);
    const onnxc_status status = fake_model().run(instance, values.data(), rarely() ? 1 : input_count,
                                                 values.data() + input_count, rarely() ? 3 : 2, nullptr);
    check_text(instance, status);
    if (status != ONNXC_OK) return false;
    check_results();
    return true;
  }

 private:
  bool rarely() { return from_.ConsumeIntegral<uint8_t>() >= 250; }
  Argument& pick() { return arguments_[from_.ConsumeIntegralInRange<size_t>(0, value_count - 1)]; }

  // As the model wants it, but for what the bytes change.
  void fill(Argument& argument, std::vector<int64_t> dims) {
    argument.dims = std::move(dims);
    int64_t count = 1;
    for (int64_t dim : argument.dims) count *= dim;
    argument.memory.resize(static_cast<size_t>(count) * sizeof(float));
    if (rarely()) argument.memory.resize(from_.ConsumeIntegralInRange<size_t>(0, 256) * sizeof(float));
    from_.ConsumeData(argument.memory.data(), argument.memory.size());
    if (rarely()) argument.dims.resize(from_.ConsumeIntegralInRange<size_t>(0, 9), 1);
    for (int64_t& dim : argument.dims)
      if (rarely()) dim = from_.ConsumeIntegral<int64_t>();
    onnxc_value& value = argument.value;
    value.dtype = rarely() ? from_.ConsumeIntegral<int32_t>() : ONNXC_FLOAT32;
    value.kind = rarely() ? from_.ConsumeIntegral<int32_t>() : ONNXC_TENSOR;
    value.device = rarely() ? from_.ConsumeIntegral<int32_t>() : ONNXC_CPU;
    value.rank = rarely() ? -1 : static_cast<int32_t>(argument.dims.size());
    value.dims = rarely() ? nullptr : argument.dims.data();
    value.data = rarely() ? nullptr : argument.memory.data();
    value.bytes = static_cast<int64_t>(argument.memory.size());
    if (rarely()) value.bytes = from_.ConsumeIntegralInRange<int64_t>(std::numeric_limits<int64_t>::min(), value.bytes);
    if (rarely()) value.extension = &value;
  }

  // Values in the memory of others, at any element.
  void share_memory() {
    if (!rarely()) return;
    Argument &one = pick(), &other = pick();
    const size_t offset = from_.ConsumeIntegralInRange<size_t>(0, other.memory.size());
    one.value.data = other.memory.data() + offset;
    one.value.bytes = std::min(one.value.bytes, static_cast<int64_t>(other.memory.size() - offset));
  }

  void ask_dims(onnxc_instance* instance) {
    if (arguments_[0].dims.size() != 2 || arguments_[1].dims.size() != 1) return;
    const std::array<const int64_t*, 2> given = {arguments_[0].dims.data(), arguments_[1].dims.data()};
    std::array<int64_t, 2> y;
    std::array<int64_t, 1> z;
    const std::array<int64_t*, 2> wanted = {y.data(), z.data()};
    const onnxc_status status = fake_model().output_dims(instance, given.data(), wanted.data());
    check_text(instance, status);
    internal_check(status != ONNXC_OK || (y[0] == given[0][0] && z[0] == y[0]), "the dims of the outputs");
  }

  static void check_text(onnxc_instance* instance, onnxc_status status) {
    internal_check(status >= ONNXC_OK && status < ONNXC_INTERNAL_ERROR, "a status of onnxc.h, and no bug of onnxc");
    const std::string text = fake_model().last_error(instance);
    internal_check(text.empty() == (status == ONNXC_OK), "each failure has its text");
    internal_check(text.size() < ONNXC_ERROR_SIZE && printable(text) == text, "a text fit for a terminal");
  }

  void check_results() const {
    const int64_t rows = arguments_[0].dims[0], row = int64_t{width} * sizeof(float);
    const std::array<int64_t, value_count> needed = {rows * row, row, rows * row, rows * int64_t{sizeof(float)}};
    for (size_t output = input_count; output < value_count; ++output)
      for (size_t other = 0; other < output; ++other)
        internal_check(!arguments_[output].overlaps(arguments_[other], needed[output], needed[other]),
                       "outputs overlap nothing");
    const float *x = arguments_[0].floats(), *k = arguments_[1].floats(), *y = arguments_[2].floats();
    for (size_t i = 0; i < static_cast<size_t>(arguments_[0].dims[0]) * width; ++i) {
      const volatile float scaled = x[i] * static_cast<float>(i % width + 1);  // rounded before it is added
      const float expected = scaled + k[i % width];
      internal_check(y[i] == expected || (y[i] != y[i] && expected != expected), "the model's own outputs");
    }
  }

  FuzzedDataProvider from_;
  std::vector<Argument> arguments_;
};

}  // namespace

bool run_calls(std::string_view bytes) { return Caller(bytes).run(); }

}  // namespace onnxc::fuzz
