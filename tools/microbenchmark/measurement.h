// The needs of a micro-benchmark of a kernel: operands, a run of all its tasks on one thread, and rates as counters.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/vector/vector.h"
#include "peak.h"

// As the kernels': code for several instruction sets is linked into one program.
namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA {

// The unit of a run: operations of the definition, or bytes of its operands, each counted once.
struct Amount {
  double operations = 0;
  double bytes = 0;
};

// Sets a counter of GFLOP/s or GB/s, and one of the share of the machine's peak.
inline void count(benchmark::State& state, const Amount& amount) {
  const auto rate = [](double each_run) {
    return benchmark::Counter(each_run, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (amount.operations > 0) {
    state.counters["GFLOP/s"] = rate(amount.operations * 1e-9);
    state.counters["of_peak"] = rate(amount.operations / peak_flops());
  } else {
    state.counters["GB/s"] = rate(amount.bytes * 1e-9);
    state.counters["of_peak"] = rate(amount.bytes / peak_bytes_read());
  }
}

struct AlignedFree {
  void operator()(float* memory) const { std::free(memory); }
};

// Floats at the start of a page, as a model's memory has them.
class Floats {
 public:
  Floats(int64_t count, float value) : count_(count) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 4096, static_cast<size_t>(count) * sizeof(float) + 64) != 0) std::abort();
    values_.reset(static_cast<float*>(memory));
    for (int64_t i = 0; i < count; ++i) values_.get()[i] = value;
  }
  // Between -1 and 1, the same in each run.
  static Floats random(int64_t count) {
    Floats result(count, 0.0f);
    uint32_t state = 1;
    for (int64_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      result.data()[i] = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    }
    return result;
  }
  static Floats not_a_number(int64_t count) { return {count, std::numeric_limits<float>::quiet_NaN()}; }

  float* data() { return values_.get(); }
  const float* data() const { return values_.get(); }
  int64_t size() const { return count_; }

 private:
  int64_t count_;
  std::unique_ptr<float, AlignedFree> values_;
};

// Runs all tasks again and again. `output` is NaN before: what stays so, the kernel was called wrongly.
template <class Run>
void measure(benchmark::State& state, const Floats& output, const Amount& amount, const Run& run) {
  for (auto _ : state) {
    run();
    benchmark::ClobberMemory();
  }
  for (int64_t i = 0; i < output.size(); ++i)
    if (std::isnan(output.data()[i])) return state.SkipWithError("elements of the output were not written");
  count(state, amount);
}

// A row: "Avx512/winograd F(2,2)/LAYER".
inline void add(const std::string& row, void (*function)(benchmark::State&)) {
  const std::string isa = kernels::lanes == 16 ? "Avx512/" : "Avx2/";
  benchmark::RegisterBenchmark((isa + row).c_str(), function)->Unit(benchmark::kMillisecond)->UseRealTime();
}

}  // namespace onnxc::microbenchmark::inline ONNXC_KERNELS_ISA
