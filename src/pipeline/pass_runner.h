// Runs passes: times, verifies and on request prints each; names the one that fails, and says how to repeat it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "passes/lowering/choose_kernels.h"
#include "pipeline/messages.h"
#include "pipeline/options.h"
#include "pipeline/pass_table.h"
#include "support/diagnostics.h"

namespace onnxc {

class PassRunner {
 public:
  PassRunner(const Options& options, MessageSink messages)
      : options_(options),
        messages_(std::move(messages)),
        file_(options.model),
        deadline_(std::chrono::steady_clock::now() + std::chrono::seconds(options.limits.max_seconds)) {}

  // The file of the graph that passes run on from now on.
  void works_on(const std::filesystem::path& file) { file_ = file; }

  // When --max-seconds are over. No stage begins after it.
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }

  // If the pass fails, the command that repeats it is the compile itself, up to there: a graph has no text that is read
  // back.
  void run(const GraphPass& pass, Graph& graph);
  // The same of a pass that asks more than the graph.
  void run(const std::string& name, Graph& graph, const std::function<void()>& pass);
  // If the pass fails, the program as it was before is kept in a file that --run-pass reads.
  void run(const ProgramPass& pass, Program& program, const Target& target);
  // The same of a pass that asks more than the target. If it fails, the command that repeats it is the compile itself.
  void run(const std::string& name, Program& program, const std::function<void()>& pass);
  // For each node of the graph the kernel that computes it.
  KernelChoices choose_kernels(const Graph& graph, const Target& target);
  // Graph to program. Fails like a pass of graphs.
  Program lower(const std::function<Program()>& pass);

  // A stage that is not a pass, such as the import or the C++ compiler: announced, since it may take long.
  void time(const std::string& name, const std::function<void()>& stage);

  // Throws UsageError when --dump-ir names a pass that has not run.
  void check_dump() const;

  // Says the time of each stage (--time-passes).
  void report() const;

 private:
  // Runs and verifies a pass; `how_to_repeat` is asked if it fails, `text` if its result is to be printed.
  void run(const std::string& name, const std::function<void()>& pass, const std::function<std::string()>& text,
           const std::function<std::string()>& how_to_repeat);
  std::string compile_up_to(const std::string& pass) const;
  void measure(const std::string& name, const std::function<void()>& stage);
  void print(const std::string& name, const std::string& text) const;

  const Options& options_;
  MessageSink messages_;
  std::filesystem::path file_;  // of the graph
  std::chrono::steady_clock::time_point deadline_;
  std::vector<std::string> passes_;  // that have run
  std::vector<std::pair<std::string, std::chrono::duration<double>>> times_;
};

}  // namespace onnxc
