#include "onnxc_run/reports/machine_peak.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "support/parallel.h"

namespace onnxc {
namespace {

constexpr int chains = 12;  // independent ones: more than the latency times the width of any CPU's multiply-add units
constexpr int64_t rounds = 400'000;
constexpr int repeats = 8;
constexpr size_t read_floats = size_t{1} << 25;  // 128 MiB a thread

template <int lanes>
using Vector = float __attribute__((ext_vector_type(lanes)));

// Returns its operations. The vectors' width is the caller's: it is inlined there.
template <int lanes>
[[gnu::always_inline]] inline double multiply_add() {
  volatile float factor = 0.999f, addend = 0.001f, sink = 0;
  Vector<lanes> sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = static_cast<float>(i);
  const Vector<lanes> x = factor, y = addend;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; ++i) sums[i] = __builtin_elementwise_fma(sums[i], x, y);
  }
  for (int i = 1; i < chains; ++i) sums[0] += sums[i];
  for (int lane = 0; lane < lanes; ++lane) sink = sink + sums[0][lane];
  return 2.0 * lanes * chains * rounds;
}

[[gnu::target("avx512f")]] double multiply_add_avx512() { return multiply_add<16>(); }
[[gnu::target("avx2,fma")]] double multiply_add_avx2() { return multiply_add<8>(); }

double multiply_add_widest() { return __builtin_cpu_supports("avx512f") ? multiply_add_avx512() : multiply_add_avx2(); }

// Returns its bytes. Eight sums, so that the additions do not hold up the loads.
double read_all(const std::vector<float>& values) {
  volatile float sink = 0;
  Vector<8> sums[8] = {};
  for (size_t i = 0; i + 64 <= values.size(); i += 64)
    for (size_t j = 0; j < 8; ++j) sums[j] += *reinterpret_cast<const Vector<8>*>(&values[i + 8 * j]);
  for (const Vector<8>& sum : sums) sink = sink + sum[0];
  return static_cast<double>(values.size() * sizeof(float));
}

// Runs `work` on all threads at once, some times; the best rate of all together, in units a second. Other programs only
// ever slow it down. Fewer threads if the machine grants no more.
double best_rate(int threads, const std::function<double(int thread)>& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> done(static_cast<size_t>(threads));
  double best = 0;
  std::latch is_counted(1);
  std::optional<std::barrier<>> ready, finished;
  auto repeat = [&](int64_t thread) {
    is_counted.wait();
    for (int i = 0; i < repeats; ++i) {
      ready->arrive_and_wait();
      Clock::time_point start = Clock::now();
      done[static_cast<size_t>(thread)] = work(static_cast<int>(thread));
      finished->arrive_and_wait();
      if (thread != 0) continue;
      double total = 0;
      for (double each : done) total += each;
      best = std::max(best, total / std::chrono::duration<double>(Clock::now() - start).count());
    }
  };
  const std::vector<std::jthread> others = start_threads(threads - 1, repeat);
  ready.emplace(std::ssize(others) + 1);
  finished.emplace(std::ssize(others) + 1);
  is_counted.count_down();
  repeat(0);
  return best;
}

}  // namespace

MachinePeak measure_machine_peak(int threads) {
  double operations = best_rate(threads, [](int) { return multiply_add_widest(); });
  std::vector<std::vector<float>> values(static_cast<size_t>(threads), std::vector<float>(read_floats, 1.0f));
  double bytes = best_rate(threads, [&](int thread) { return read_all(values[static_cast<size_t>(thread)]); });
  return {operations * 1e-9, bytes * 1e-9};
}

}  // namespace onnxc
