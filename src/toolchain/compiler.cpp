#include "toolchain/compiler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "support/diagnostics.h"
#include "support/environment_error.h"
#include "support/processes/subprocess.h"
#include "support/text.h"
#include "toolchain/python_packages.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

constexpr int oldest_clang = 19, newest_clang = 39;
// The glibc that a model.so of zig needs by default: RHEL 8, Debian 10 and Ubuntu 18.10 have it.
constexpr const char* usual_glibc = "2.28";

// "clang++-19" is 19; 0 if the name does not end in a number.
int version_in_name(const std::string& name) {
  const size_t begin = name.find_last_not_of("0123456789") + 1;
  return begin < name.size() && name.size() - begin < 4 ? std::stoi(name.substr(begin)) : 0;
}

std::string linker_of(int version) {
  if (version > 0) return fmt::format("lld-{}", version);
  return find_program("ld.lld-19") ? "lld-19" : "lld";
}

Compiler clang(const std::string& command) {
  return {.command = {command}, .linker = linker_of(version_in_name(fs::path(command).filename().string()))};
}

// The newest glibc 2.x that a zig has, by its own list; nothing if it cannot be read.
std::optional<int> newest_glibc(const std::string& program) {
  const ProcessResult result = run_process({program, "targets"});
  size_t at = result.succeeded() ? result.output.find("glibc") : std::string::npos;
  std::optional<int> newest;
  constexpr std::string_view begin = "\"2.";
  while (at != std::string::npos && (at = result.output.find(begin, at)) != std::string::npos) {
    at += begin.size();
    int minor = 0;
    const char* const digits = result.output.data() + at;
    if (std::from_chars(digits, result.output.data() + result.output.size(), minor).ec == std::errc())
      newest = std::max(newest.value_or(0), minor);
  }
  return newest;
}

// A newer one than zig has would be taken for the newest that it has.
void check_glibc(const std::string& program, const std::string& glibc) {
  const std::optional<int> newest = newest_glibc(program);
  if (newest && std::stoi(glibc.substr(2)) > *newest)
    throw UsageError(fmt::format("--glibc {}: {} has glibc up to 2.{}", glibc, quote(program), *newest));
}

Compiler zig(const std::string& program, const std::string& glibc) {
  if (!glibc.empty()) check_glibc(program, glibc);
  const std::string version = glibc.empty() ? usual_glibc : glibc;
  return {Compiler::Kind::zig, {program, "c++", "-target", "x86_64-linux-gnu." + version}, "", version};
}

// Clang without a number in its name is asked for it.
bool is_new_enough(const std::string& command) {
  const ProcessResult result = run_process({command, "-dumpversion"});
  const std::string major = result.output.substr(0, result.output.find('.'));
  return result.succeeded() && !major.empty() && major.size() < 4 &&
         std::ranges::all_of(major, [](char c) { return c >= '0' && c <= '9'; }) && std::stoi(major) >= oldest_clang;
}

std::optional<Compiler> find_clang() {
  for (int version = oldest_clang; version <= newest_clang; ++version) {
    const std::string command = fmt::format("clang++-{}", version);
    if (find_program(command) && find_program("ld." + linker_of(version))) return clang(command);
  }
  if (find_program("clang++") && find_program("ld.lld") && is_new_enough("clang++")) return clang("clang++");
  return std::nullopt;
}

std::optional<fs::path> find_zig() {
  if (std::optional<fs::path> found = find_in_python_packages({"ziglang/zig"})) return found;
  return find_program("zig");
}

bool is_glibc_version(const std::string& text) {
  return text.starts_with("2.") && text.size() > 2 && text.size() < 5 &&
         text.find_first_not_of("0123456789", 2) == std::string::npos;
}

constexpr std::string_view compiler_variable = "ONNXC_CXX";

// `source`: the origin of the name, --compiler or the environment variable.
void check_exists(std::string_view source, const std::string& name) {
  std::error_code error;
  const bool is_path = name.find('/') != std::string::npos;
  if (is_path ? fs::exists(name, error) : find_program(name).has_value()) return;
  const std::string fault = fmt::format(": there is no command {}{}; {}", quote(name), is_path ? "" : " on the PATH",
                                        usable_compilers(false));
  if (source == compiler_variable) throw EnvironmentError(compiler_variable, fault);
  throw UsageError(std::string(source) + fault);
}

// As it was asked for by name or by $ONNXC_CXX.
Compiler named_compiler(const CompilerRequest& request, std::string_view source, const std::string& name) {
  if (name == "zig") {
    const std::optional<fs::path> found = find_zig();
    user_check(found.has_value(), "{} zig: there is none: pip install ziglang", source);
    return zig(found->string(), request.glibc);
  }
  if (fs::path(name).filename() == "zig") {
    check_exists(source, name);
    return zig(name, request.glibc);
  }
  if (!request.glibc.empty())
    throw UsageError(
        fmt::format("--glibc {}: only zig can compile for another glibc than the system's; leave out "
                    "the compiler {}, or choose --compiler zig",
                    request.glibc, quote(name)));
  check_exists(source, name);
  return clang(name);
}

}  // namespace

std::string Compiler::cpu_option(const std::string& march) const {
  if (!is_zig()) return "-march=" + march;
  std::string name = march;
  std::ranges::replace(name, '-', '_');
  return "-mcpu=" + name;
}

std::string Compiler::describe() const {
  if (is_zig()) return fmt::format("{} c++ (clang of zig), glibc {}", command.front(), glibc);
  return fmt::format("{} with {}", command.front(), linker);
}

Compiler find_compiler(const CompilerRequest& request) {
  if (!request.glibc.empty() && !is_glibc_version(request.glibc))
    throw UsageError(fmt::format("--glibc {}: a version such as 2.28 is expected", printable(request.glibc)));
  if (!request.compiler.empty()) return named_compiler(request, "--compiler", request.compiler);
  const char* chosen = std::getenv(compiler_variable.data());
  if (chosen != nullptr && *chosen != '\0') return named_compiler(request, compiler_variable, chosen);
  if (request.glibc.empty())
    if (const std::optional<Compiler> found = find_clang()) return *found;
  if (const std::optional<fs::path> found = find_zig()) return zig(found->string(), request.glibc);
  user_check(request.glibc.empty(), "--glibc {} is compiled by zig, which is not there: pip install ziglang",
             request.glibc);
  user_error(
      "no C++ compiler is found. onnxc compiles with clang 19 or newer and its lld on the PATH (Debian: apt-get "
      "install "
      "clang-19 lld-19), or with zig: pip install ziglang");
}

std::string usable_compilers(bool for_gpu) {
  std::vector<std::string> found;
  if (const std::optional<Compiler> clang = find_clang()) found.push_back(clang->command.front());
  if (const std::optional<fs::path> zig = for_gpu ? std::nullopt : find_zig()) found.push_back(zig->string());
  if (!found.empty()) return fmt::format("this machine has {}", fmt::join(found, ", "));
  return for_gpu ? "apt-get install clang-19 lld-19" : "apt-get install clang-19 lld-19, or pip install ziglang";
}

bool compiles_libraries_first(const Compiler& compiler) {
  if (!compiler.is_zig()) return false;
  const auto folder = [](const char* variable, const char* below) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != '\0' ? fs::path(value) / below : fs::path();
  };
  std::error_code error;
  for (const fs::path& cache :
       {folder("ZIG_GLOBAL_CACHE_DIR", ""), folder("XDG_CACHE_HOME", "zig"), folder("HOME", ".cache/zig")})
    if (!cache.empty()) return !fs::exists(cache / "o", error);
  return true;
}

void check_is_clang(const Compiler& compiler) {
  const std::string& command = compiler.command.front();
  if (compiler.is_zig() || fs::path(command).filename().string().starts_with("clang")) return;
  const ProcessResult result = run_process({command, "-dM", "-E", "-x", "c++", "/dev/null"});
  user_check(result.output.find("#define __clang__ ") != std::string::npos,
             "the C++ compiler {} is not clang, and only clang 19 or newer and zig compile a model: {}", quote(command),
             usable_compilers(false));
}

}  // namespace onnxc
