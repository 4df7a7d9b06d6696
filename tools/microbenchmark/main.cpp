// microbenchmark: each CPU kernel on layers of real networks, on one thread, with its share of this machine's peak.
// Takes the options of Google Benchmark; fails if a row does not run or none is chosen.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "onnxc_run/reports/machine_peak.h"
#include "peak.h"

namespace onnxc::microbenchmark {
namespace {

const MachinePeak& peak() {
  static const MachinePeak measured = measure_machine_peak(1);
  return measured;
}

class Reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override {
    fmt::print("of one thread's peak, {:.1f} GFLOP/s of multiply-adds and {:.1f} GB/s read from memory\n\n",
               peak().gflops, peak().gigabytes_read);
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      failed_ |= run.error_occurred;
      std::string name = run.benchmark_name();
      name = name.substr(0, name.rfind("/real_time"));
      if (run.error_occurred) {
        fmt::print("{:<66} {}\n", name, run.error_message);
        continue;
      }
      fmt::print("{:<66} {:>9.3f} ms", name, run.GetAdjustedRealTime());
      for (const char* unit : {"GFLOP/s", "GB/s"})
        if (const auto rate = run.counters.find(unit); rate != run.counters.end())
          fmt::print(" {:>7.1f} {:<7} {:>4.0f}% of peak\n", rate->second.value, unit,
                     100 * run.counters.at("of_peak").value);
    }
    std::fflush(stdout);
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace

double peak_flops() { return peak().gflops * 1e9; }
double peak_bytes_read() { return peak().gigabytes_read * 1e9; }

}  // namespace onnxc::microbenchmark

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  onnxc::microbenchmark::Reporter reporter;
  const size_t rows = benchmark::RunSpecifiedBenchmarks(&reporter);
  if (rows == 0) fmt::print(stderr, "no row has such a name\n");
  return rows == 0 || reporter.failed() ? 1 : 0;
}
