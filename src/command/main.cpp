// The command: words in, messages on the standard streams, an exit code out.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>

#include "command/command_line.h"
#include "command/confine.h"
#include "command/list_operators.h"
#include "pipeline/compile.h"
#include "pipeline/outcome.h"
#include "pipeline/run_pass.h"
#include "support/process_end.h"
#include "support/standard_output.h"
#include "support/text.h"

namespace {

using onnxc::CommandLine, onnxc::MessageKind, onnxc::Outcome;

// Messages go to stderr; stdout is data.
void set_up_messages(const CommandLine& command) {
  auto mode = std::getenv("NO_COLOR") == nullptr ? spdlog::color_mode::automatic : spdlog::color_mode::never;
  auto logger = spdlog::stderr_color_mt("onnxc", mode);
  logger->set_pattern("%n: %^%l%$: %v");
  spdlog::set_default_logger(logger);
  auto usual = isatty(STDERR_FILENO) != 0 ? spdlog::level::info : spdlog::level::warn;
  spdlog::set_level(command.quiet ? spdlog::level::err : (command.verbosity > 0 ? spdlog::level::debug : usual));
}

// Also if nothing looks at the time. The compile has half a second to say which stage it was. Returns what the machine
// lacks for it.
std::string hold_to_limits(const onnxc::Limits& limits) {
  using namespace std::chrono_literals;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limits.max_seconds) + 500ms;
  std::string lacks = onnxc::end_at(
      end, fmt::format("onnxc: error: the compile takes longer than {} s (--max-seconds)\n", limits.max_seconds));
  onnxc::limit_process_memory(limits.process_memory());
  return lacks;
}

void print(MessageKind kind, std::string_view text) {
  switch (kind) {
    case MessageKind::output:
      return onnxc::print(text);
    case MessageKind::times:
      return onnxc::write_error(text);
    case MessageKind::detail:
      return spdlog::debug("{}", text);
    case MessageKind::progress:
      return spdlog::info("{}", text);
    case MessageKind::warning:
      return spdlog::warn("{}", text);
  }
}

Outcome work(const onnxc::Options& options) {
  if (options.list_operators)
    return onnxc::outcome_of([&] { onnxc::print_operators(*options.list_operators == "json", print); });
  if (options.run_pass) return onnxc::outcome_of([&] { onnxc::run_pass(options, print); });
  return onnxc::compile({.options = options, .messages = print});
}

// Returns an exit code if the command ends before any work (--help, --version, a mistake).
std::optional<int> run(int argc, char** argv, Outcome& outcome) {
  CommandLine command;
  std::optional<int> ended;
  outcome = onnxc::outcome_of([&] {
    onnxc::keep_standard_streams();
    ended = onnxc::parse_command_line(argc, argv, command);
    if (ended) return;
    set_up_messages(command);
    // Before what starts threads, which would stay outside.
    if (const std::string lacks = onnxc::confine(command.options); !lacks.empty())
      print(MessageKind::detail, "no whole sandbox: " + lacks);
    const std::string start = fmt::format("onnxc: error: {}: ", onnxc::quote(command.options.model.string()));
    for (const std::string& lacks : {onnxc::tidy_up_on_signals(start), hold_to_limits(command.options.limits)})
      if (!lacks.empty()) print(MessageKind::warning, lacks);
  });
  if (ended || !outcome.succeeded()) return ended;
  outcome = work(command.options);
  if (outcome.succeeded()) outcome = onnxc::outcome_of(onnxc::finish_standard_output);
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  Outcome outcome;
  if (const std::optional<int> code = run(argc, argv, outcome)) return *code;
  if (!outcome.succeeded()) onnxc::write_error(fmt::format("onnxc: {}\n", outcome.message));
  return static_cast<int>(outcome.fault);
}
