// Runs passes: times, verifies and on request prints each; names the one that fails.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "options.h"
#include "support/diagnostics.h"

namespace onnxc {

class PassRunner {
 public:
  explicit PassRunner(const Options& options) : options_(options) {}

  // `subject` is a Graph or a Program: anything with verify and to_string.
  template <class Subject>
  void run(const std::string& name, Subject& subject, const std::function<void(Subject&)>& pass) {
    measure(name, [&] {
      try {
        pass(subject);
        verify(subject);
      } catch (const InternalError& error) {
        throw InternalError("pass " + name + ": " + error.what());
      }
    });
    passes_.push_back(name);
    if (options_.dump_ir == "all" || options_.dump_ir == name) print(name, to_string(subject));
  }

  // A stage that is no pass, such as the import or the C++ compiler: announced, since it may take long.
  void time(const std::string& name, const std::function<void()>& stage);

  // Throws UsageError when --dump-ir names a pass that has not run.
  void check_dump() const;

  // Prints the time of each stage (--time-passes).
  void report() const;

 private:
  void measure(const std::string& name, const std::function<void()>& stage);
  static void print(const std::string& name, const std::string& text);

  const Options& options_;
  std::vector<std::string> passes_;  // that have run
  std::vector<std::pair<std::string, std::chrono::duration<double>>> times_;
};

}  // namespace onnxc
