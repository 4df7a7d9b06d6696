#include "library/onnxc_compiler.h"

#include <cfenv>
#include <cstring>
#include <string>
#include <vector>

#include "command/command_line.h"
#include "pipeline/compile.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

static_assert(static_cast<int>(MessageKind::output) == ONNXC_MESSAGE_OUTPUT &&
              static_cast<int>(MessageKind::times) == ONNXC_MESSAGE_TIMES &&
              static_cast<int>(MessageKind::detail) == ONNXC_MESSAGE_DETAIL &&
              static_cast<int>(MessageKind::progress) == ONNXC_MESSAGE_PROGRESS &&
              static_cast<int>(MessageKind::warning) == ONNXC_MESSAGE_WARNING);

void usage_check(bool holds, const char* text) {
  if (!holds) throw UsageError(text);
}

// The words of a command line that asks for the same.
std::vector<std::string> words_of(const onnxc_compile_request& request) {
  std::vector<std::string> words;
  usage_check(request.options != nullptr || request.option_count == 0, "options is NULL, but option_count is not 0");
  for (size_t i = 0; i < request.option_count; ++i) {
    usage_check(request.options[i] != nullptr, "one of the options is NULL");
    words.emplace_back(request.options[i]);
  }
  if (request.output != nullptr) words.insert(words.end(), {"-o", request.output});
  words.insert(words.end(), {"--", request.model});  // a name that begins with - is not an option
  return words;
}

CompileRequest read_request(const onnxc_compile_request* given) {
  usage_check(given != nullptr && given->size == sizeof(onnxc_compile_request),
              "the request is NULL, or its size is not that of this version's onnxc_compile_request");
  usage_check(given->model != nullptr, "the request names no model");
  usage_check(given->model_bytes != nullptr || given->model_size == 0, "model_bytes is NULL, but model_size is not 0");
  CompileRequest request;
  request.options = parse_command_line(words_of(*given)).options;
  usage_check(request.options.more_models.empty(), "only the command takes several MODELs: a request has one");
  usage_check(!request.options.run_pass, "only the command has --run-pass");
  usage_check(request.options.sandbox != true, "only the command has --sandbox: a library shares its caller's process");
  if (given->model_bytes != nullptr)
    request.model_bytes = {static_cast<const char*>(given->model_bytes), given->model_size};
  if (given->message != nullptr)
    request.messages = [message = given->message, context = given->context](MessageKind kind, std::string_view text) {
      message(context, static_cast<onnxc_compile_message>(kind), std::string(text).c_str());
    };
  return request;
}

// Constants are computed with IEEE's rounding to nearest, whatever the caller's thread has set, and its exception flags
// stay as they were.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t saved_ = {};
};

// Cut before a character that has no room.
void copy_text(const std::string& text, char* to, size_t size) {
  if (to == nullptr || size == 0) return;
  size_t count = std::min(text.size(), size - 1);
  while (count < text.size() && count > 0 && (static_cast<unsigned char>(text[count]) & 0xc0) == 0x80) --count;
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
}

}  // namespace
}  // namespace onnxc

onnxc_compile_status onnxc_compile(const onnxc_compile_request* request, char* error, size_t error_size) {
  const onnxc::DefaultFloatingPoint while_compiling;
  onnxc::CompileRequest read;
  onnxc::Outcome outcome = onnxc::outcome_of([&] { read = onnxc::read_request(request); });
  if (outcome.succeeded()) outcome = onnxc::compile(read);
  onnxc::copy_text(outcome.message, error, error_size);
  return static_cast<onnxc_compile_status>(outcome.fault);
}

const char* onnxc_compiler_version(void) { return ONNXC_VERSION; }
