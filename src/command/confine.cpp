#include "command/confine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/diagnostics.h"
#include "support/installation_prefix.h"
#include "support/processes/sandbox.h"
#include "support/processes/subprocess.h"
#include "toolchain/compiler.h"
#include "toolchain/installation.h"
#include "toolchain/ptxas.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

void add(Paths& paths, const Paths& more) { paths.insert(paths.end(), more.begin(), more.end()); }

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

// The files that a program needs to start, and clang to know its system; not the rest of /etc.
Paths system_files() {
  return {"/usr",
          "/bin",
          "/lib",
          "/lib32",
          "/lib64",
          "/opt",
          "/nix/store",
          "/gnu/store",
          "/etc/ld.so.cache",
          "/etc/ld.so.preload",
          "/etc/alternatives",
          "/etc/os-release",
          "/etc/lsb-release",
          "/etc/debian_version",
          "/etc/redhat-release",
          "/etc/gentoo-release",
          "/etc/SuSE-release",
          "/etc/localtime",
          "/proc",
          "/sys/fs/cgroup",
          "/sys/devices/system/cpu",
          "/dev/null",
          "/dev/zero",
          "/dev/random",
          "/dev/urandom"};
}

// The user's own word about what programs load.
Paths loader_files() {
  Paths result;
  for (std::string_view rest : {environment("LD_LIBRARY_PATH"), environment("LD_PRELOAD")})
    while (!rest.empty()) {
      const size_t end = std::min(rest.find_first_of(": "), rest.size());
      if (end > 0) result.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return result;
}

// The folder of a program, and the one above if that is a bin: its headers and libraries are beside it. A home is never
// meant.
void add_program(Paths& paths, const std::string& command) {
  fs::path named = command;
  if (!named.has_parent_path()) named = find_program(command).value_or("");
  if (named.empty()) return;
  std::error_code error;
  paths.push_back(folder_of(named));
  const fs::path real = fs::canonical(named, error);
  if (error) return;
  const fs::path folder = real.parent_path(), above = folder.parent_path();
  const bool is_prefix = folder.filename() == "bin" && above != above.root_path() && above != environment("HOME");
  paths.push_back(is_prefix ? above : folder);
}

// Zig keeps the libraries that it compiles; the folder is made here, as what is missing cannot be allowed. Empty if it
// is told to use a temporary one.
fs::path zig_cache() {
  fs::path folder = environment("ZIG_GLOBAL_CACHE_DIR");
  if (folder.empty() && !environment("XDG_CACHE_HOME").empty())
    folder = fs::path(environment("XDG_CACHE_HOME")) / "zig";
  if (folder.empty() && !environment("HOME").empty()) folder = fs::path(environment("HOME")) / ".cache/zig";
  std::error_code ignored;
  if (!folder.empty()) fs::create_directories(folder, ignored);
  return folder;
}

void add_toolchain(SandboxRules& rules, CompilerRequest& request) {
  add(rules.runnable, system_files());
  add(rules.readable, loader_files());
  add(rules.runnable, {installation_prefix() / "lib/onnxc"});
  // As find_device_toolchain takes them.
  if (const std::string_view rocm = environment("ROCM_PATH"); !rocm.empty()) rules.runnable.emplace_back(rocm);
  if (const std::string_view chosen = environment("ONNXC_DEVICE_LIBRARIES"); !chosen.empty())
    rules.readable.emplace_back(chosen);
  if (const std::string_view libclc = environment("ONNXC_LIBCLC"); !libclc.empty()) rules.readable.emplace_back(libclc);
  try {
    const BuildParts parts = find_parts();
    add(rules.readable, parts.include_folders);
    rules.readable.push_back(parts.runtime);
    const Compiler compiler = find_compiler(request);
    add_program(rules.runnable, compiler.command.front());
    if (!compiler.is_zig()) return add_program(rules.runnable, "ld." + compiler.linker);
    rules.writable.push_back(zig_cache());
    // A search from inside would not see the Python environment that it is in.
    request.compiler = compiler.command.front();
  } catch (const UserError&) {  // the compile says what is missing, if it needs it
  }
}

// Found from outside, as zig is.
void add_ptxas(SandboxRules& rules, CompilerRequest& request) {
  const std::optional<std::string> ptxas = find_ptxas();
  if (!ptxas) return;
  request.ptxas = *ptxas;
  add_program(rules.runnable, *ptxas);
}

SandboxRules rules_of(Options& options) {
  SandboxRules rules;
  add_toolchain(rules, options.compiler);
  if (options.for_gpu()) add_ptxas(rules, options.compiler);
  // The model may be a link to a file of another folder, as in a cache of models.
  add(rules.readable, {folder_of(options.model), options.model});
  for (const fs::path& model : options.more_models) add(rules.readable, {folder_of(model), model});
  if (!options.against.empty()) add(rules.readable, {folder_of(options.against), options.against});
  const std::string_view temporary = environment("TMPDIR");
  add(rules.writable, {temporary.empty() ? fs::path("/tmp") : fs::path(temporary), "/dev/null"});
  if (!options.output.empty()) rules.writable.push_back(folder_of(options.output));
  if (options.report && !options.report->empty()) rules.writable.push_back(folder_of(*options.report));
  if (options.dump_shapes && !options.dump_shapes->empty()) rules.writable.push_back(folder_of(*options.dump_shapes));
  return rules;
}

}  // namespace

std::string confine(Options& options) {
  if (options.sandbox == false || options.model.empty()) return {};
  std::string lacks = enter_sandbox(rules_of(options));
  user_check(lacks.empty() || options.sandbox != true, "--sandbox: {}", lacks);
  return lacks;
}

}  // namespace onnxc
