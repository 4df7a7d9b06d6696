#include "pipeline/pass_runner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "passes/lowering/guard_accesses.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc {
namespace {

// Keeps the program that a pass failed on; what to do with it, for the message.
std::string keep_input(const std::string& pass, const Program& program) {
  try {
    TemporaryFolder folder("pass");
    const std::filesystem::path file = folder.path() / (pass + ".txt");
    write_file(file, to_string(program));
    folder.keep();
    return fmt::format("Its input is kept; repeat with:\nonnxc --run-pass {} {}", pass, quote(file.string()));
  } catch (const UserError& error) {
    return fmt::format("Its input could not be kept: {}", error.what());
  }
}

}  // namespace

void PassRunner::run(const GraphPass& pass, Graph& graph) {
  run(std::string(pass.name), graph, [&] { pass.run(graph, options_.limits); });
}

void PassRunner::run(const std::string& name, Graph& graph, const std::function<void()>& pass) {
  const auto run_and_verify = [&] {
    pass();
    verify(graph);
  };
  run(name, run_and_verify, [&] { return to_string(graph); }, [&] { return compile_up_to(name); });
}

void PassRunner::run(const ProgramPass& pass, Program& program, const Target& target) {
  const std::string name(pass.name);
  const Program before = program;  // shares the constants
  const auto run_and_verify = [&] {
    pass.run(program, target);
    // A compile does not fail since a proof is not found. The tests of passes are without this net.
    guard_accesses(program);
    verify(program);
  };
  run(name, run_and_verify, [&] { return to_string(program); }, [&] { return keep_input(name, before); });
}

void PassRunner::run(const std::string& name, Program& program, const std::function<void()>& pass) {
  const auto run_and_verify = [&] {
    pass();
    guard_accesses(program);
    verify(program);
  };
  run(name, run_and_verify, [&] { return to_string(program); }, [&] { return compile_up_to(name); });
}

KernelChoices PassRunner::choose_kernels(const Graph& graph, const Target& target) {
  const char* name = "choose_kernels";
  KernelChoices choices;
  run(
      name, [&] { choices = onnxc::choose_kernels(graph, target); }, [&] { return to_string(graph, choices); },
      [&] { return compile_up_to(name); });
  return choices;
}

Program PassRunner::lower(const std::function<Program()>& pass) {
  Program program;
  const auto run_and_verify = [&] {
    program = pass();
    verify(program);
  };
  run("lower", run_and_verify, [&] { return to_string(program); }, [&] { return compile_up_to("lower"); });
  return program;
}

void PassRunner::run(const std::string& name, const std::function<void()>& pass,
                     const std::function<std::string()>& text, const std::function<std::string()>& how_to_repeat) {
  measure(name, [&] {
    try {
      pass();
    } catch (const std::logic_error& error) {
      throw InternalError(fmt::format("pass {}: {}\n{}", name, error.what(), how_to_repeat()));
    }
  });
  passes_.push_back(name);
  if (options_.dump_ir == "all" || options_.dump_ir == name) print(name, text());
}

std::string PassRunner::compile_up_to(const std::string& pass) const {
  return fmt::format(
      "It works on the graph, which has no text that is read back; repeat with the same options and:\n"
      "onnxc {} --dump-ir={}",
      quote(file_.string()), pass);
}

void PassRunner::time(const std::string& name, const std::function<void()>& stage) {
  messages_(MessageKind::progress, name + " ...");
  measure(name, stage);
}

void PassRunner::measure(const std::string& name, const std::function<void()>& stage) {
  auto start = std::chrono::steady_clock::now();
  user_check(start < deadline_, "the compile takes longer than {} s (--max-seconds)", options_.limits.max_seconds);
  stage();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  times_.emplace_back(name, seconds);
  messages_(MessageKind::detail, fmt::format("{} took {:.1f} ms", name, 1e3 * seconds.count()));
}

void PassRunner::print(const std::string& name, const std::string& text) const {
  messages_(MessageKind::output, fmt::format("# after {}\n{}\n", name, text));
}

void PassRunner::check_dump() const {
  if (!options_.dump_ir || options_.dump_ir == "all" || std::ranges::count(passes_, *options_.dump_ir) > 0) return;
  throw UsageError(fmt::format("--dump-ir={}: no pass of this name runs; the passes are {}",
                               printable(*options_.dump_ir), fmt::join(passes_, ", ")));
}

void PassRunner::report() const {
  std::chrono::duration<double> total{0};
  for (const auto& [name, seconds] : times_) total += seconds;
  for (const auto& [name, seconds] : times_)
    messages_(MessageKind::times,
              fmt::format("{:>9.1f} ms {:>5.1f}%  {}\n", 1e3 * seconds.count(), 100 * seconds / total, name));
  messages_(MessageKind::times, fmt::format("{:>9.1f} ms 100.0%  total\n", 1e3 * total.count()));
}

}  // namespace onnxc
