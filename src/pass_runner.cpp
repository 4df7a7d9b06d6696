#include "pass_runner.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>

#include "support/standard_output.h"
#include "support/text.h"

namespace onnxc {

void PassRunner::time(const std::string& name, const std::function<void()>& stage) {
  spdlog::info("{} ...", name);
  measure(name, stage);
}

void PassRunner::measure(const std::string& name, const std::function<void()>& stage) {
  auto start = std::chrono::steady_clock::now();
  stage();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  times_.emplace_back(name, seconds);
  spdlog::debug("{} took {:.1f} ms", name, 1e3 * seconds.count());
}

void PassRunner::print(const std::string& name, const std::string& text) { fmt::print("# after {}\n{}\n", name, text); }

void PassRunner::check_dump() const {
  if (!options_.dump_ir || options_.dump_ir == "all" || std::ranges::count(passes_, *options_.dump_ir) > 0) return;
  throw UsageError(fmt::format("--dump-ir={}: no pass of this name runs; the passes are {}",
                               printable(*options_.dump_ir), fmt::join(passes_, ", ")));
}

void PassRunner::report() const {
  std::chrono::duration<double> total{0};
  for (const auto& [name, seconds] : times_) total += seconds;
  for (const auto& [name, seconds] : times_)
    write_error(fmt::format("{:>9.1f} ms {:>5.1f}%  {}\n", 1e3 * seconds.count(), 100 * seconds / total, name));
  write_error(fmt::format("{:>9.1f} ms 100.0%  total\n", 1e3 * total.count()));
}

}  // namespace onnxc
