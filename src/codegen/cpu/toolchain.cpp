#include "codegen/cpu/toolchain.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <thread>

#include "codegen/hip/toolchain.h"
#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/subprocess.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

constexpr const char* install_hint = "onnxc compiles with clang 19 and lld 19: apt-get install clang-19 lld-19";

std::string compiler() {
  const char* chosen = std::getenv("ONNXC_CXX");
  return chosen != nullptr && *chosen != '\0' ? chosen : "clang++-19";
}

// --------------------------------------------------------------------------------------------------- architecture

struct Feature {
  std::string_view macro;  // that clang defines when it may use the feature
  const char* name;        // of __builtin_cpu_supports
};

constexpr std::array features = {
    Feature{"__AVX2__", "avx2"},
    Feature{"__FMA__", "fma"},
    Feature{"__F16C__", "f16c"},
    Feature{"__BMI2__", "bmi2"},
    Feature{"__AVX512F__", "avx512f"},
    Feature{"__AVX512BW__", "avx512bw"},
    Feature{"__AVX512DQ__", "avx512dq"},
    Feature{"__AVX512VL__", "avx512vl"},
    Feature{"__AVX512VNNI__", "avx512vnni"},
    Feature{"__AVX512BF16__", "avx512bf16"},
    Feature{"__AVX512FP16__", "avx512fp16"},
    Feature{"__AVXVNNI__", "avxvnni"},
};

std::string native_level() {
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  user_check(v3, "this CPU lacks AVX2, FMA or F16C, which onnxc's CPU code needs at least");
  bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v4 ? "x86-64-v4" : "x86-64-v3";
}

// --------------------------------------------------------------------------------------------------------- parts

// Headers and runtime: beside the command once it is installed, in the source and build trees before.
struct Parts {
  std::vector<fs::path> include_folders;
  fs::path runtime;
};

Parts find_parts() {
  fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  Parts installed{{prefix / "share/onnxc/include"}, prefix / "lib/onnxc/libonnxc_runtime_cpu.a"};
  if (fs::exists(installed.runtime)) return installed;
  fs::path source = ONNXC_SOURCE_FOLDER;
  Parts built{{source / "src", source / "runtime/include", source / "runtime"}, ONNXC_RUNTIME_LIBRARY};
  user_check(fs::exists(built.runtime), "the runtime library {} is missing; build or install onnxc again",
             quote(built.runtime.string()));
  return built;
}

// ------------------------------------------------------------------------------------------------------ compiling

std::string join(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  return text;
}

// A file's bytes as a section of their own that may pass 2 GiB: .lrodata is outside of the range of the code's
// addresses. Code objects want the alignment of a page.
std::string data_assembly(const std::string& symbol, const fs::path& file) {
  return fmt::format(
      ".section .lrodata, \"al\", @progbits\n"
      ".balign 4096\n"
      ".globl {0}\n"
      ".hidden {0}\n"
      "{0}:\n"
      ".incbin {1}\n"
      ".byte 0\n"
      ".section .note.GNU-stack, \"\", @progbits\n",
      symbol, c_string_literal(file.string()));
}

class Build {
 public:
  Build(const EmittedModel& model, const ToolchainOptions& options)
      : model_(model), options_(options), parts_(find_parts()) {}

  // Compiles everything; returns the objects.
  std::vector<fs::path> objects() {
    const fs::path source = path("model.cpp");
    write_file(source, model_.source);
    for (int part = 0; part < model_.parts; ++part)
      compile(source, fmt::format("model{}", part),
              model_.parts == 1 ? std::vector<std::string>{}
                                : std::vector<std::string>{fmt::format("-DONNXC_PART={}", part)});
    add_data("onnxc_model_weights", model_.weights);
    if (model_.device) {
      write_file(path("device.hip"), model_.device->source);
      commands_.push_back(device_compile_command(compiler(), model_.device->architecture, parts_.include_folders,
                                                 path("device.hip"), path("device.co")));
      add_data("onnxc_device_weights", model_.device->weights);
    }
    run_all(commands_);
    commands_.clear();
    // The code object is data of the host's file.
    if (model_.device) add_assembly("onnxc_device_code", path("device.co"));
    run_all(commands_);
    return objects_;
  }

  void link(const std::vector<fs::path>& objects, bool shared, const fs::path& output) {
    OutputFile file(output, shared ? OutputFile::Kind::executable : OutputFile::Kind::data);
    // Without a map of the output file: a full disk would end lld by a signal instead of a message.
    std::vector<std::string> command{compiler(), "-fuse-ld=lld-19", "-Wl,--no-mmap-output-file"};
    for (const char* argument :
         shared ? std::vector<const char*>{"-shared", "-nostdlib++", "-Wl,--as-needed", "--rtlib=compiler-rt",
                                           "--unwindlib=none", "-Wl,--no-undefined", "-Wl,-z,relro", "-Wl,-z,now",
                                           "-Wl,-z,noexecstack", "-Wl,--gc-sections", "-Wl,--undefined=onnxc_get_api",
                                           "-Wl,--build-id=none"}
                : std::vector<const char*>{"-nostdlib", "-r"})
      command.push_back(argument);
    for (const fs::path& object : objects) command.push_back(object.string());
    if (shared) {
      command.push_back(parts_.runtime.string());
      command.push_back("-lm");
    }
    command.push_back("-o");
    command.push_back(file.temporary_path().string());
    run(command);
    file.commit();
  }

 private:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  void compile(const fs::path& input, const std::string& name, const std::vector<std::string>& extra) {
    objects_.push_back(path(name + ".o"));
    std::vector<std::string> command = compile_command(input, objects_.back());
    command.insert(command.end(), extra.begin(), extra.end());
    commands_.push_back(std::move(command));
  }

  void add_assembly(const std::string& symbol, const fs::path& file) {
    const fs::path assembly = path(symbol + ".s");
    write_file(assembly, data_assembly(symbol, file));
    compile(assembly, symbol, {});
  }

  void add_data(const std::string& symbol, const std::vector<std::byte>& bytes) {
    const fs::path file = path(symbol + ".bin");
    write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    add_assembly(symbol, file);
  }

  std::vector<std::string> compile_command(const fs::path& input, const fs::path& object) const {
    std::vector<std::string> command{
        compiler(), "-c", input.string(), "-o", object.string(), "-march=" + options_.architecture.march};
    if (options_.architecture.lanes == 16) command.push_back("-mprefer-vector-width=512");
    for (const char* argument : {"-std=c++20", "-O3", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden",
                                 "-ffp-contract=on", "-fno-math-errno", "-fno-trapping-math", "-ffunction-sections",
                                 "-fno-asynchronous-unwind-tables", "-fno-ident", "-Wno-everything"})
      command.push_back(argument);
    if (input.extension() == ".s") return command;
    for (const fs::path& include : parts_.include_folders) command.push_back("-I" + include.string());
    return command;
  }

  void run(const std::vector<std::string>& command) {
    ProcessResult result = run_process(command, {std::nullopt, install_hint});
    if (result.succeeded()) return;
    if (result.errors.find("No space left on device") != std::string::npos)
      user_error("the disk is full: {}", printable_message(result.errors));
    folder_.keep();
    throw InternalError(
        fmt::format("the C++ compiler refused generated code ({}):\n{}\nThe source is kept; repeat with:\n{}",
                    result.describe(), printable_message(result.errors), join(command)));
  }

  // Runs the commands on `jobs` threads; the first failure, in their order, is thrown.
  void run_all(const std::vector<std::vector<std::string>>& commands) {
    size_t jobs =
        options_.jobs > 0 ? static_cast<size_t>(options_.jobs) : std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::exception_ptr> failures(commands.size());
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t i = next++; i < commands.size(); i = next++) {
        try {
          run(commands[i]);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      }
    };
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < std::min(jobs, commands.size()); ++i) threads.emplace_back(work);
    work();
    threads.clear();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

  const EmittedModel& model_;
  const ToolchainOptions& options_;
  Parts parts_;
  TemporaryFolder folder_{"build"};
  std::vector<std::vector<std::string>> commands_;
  std::vector<fs::path> objects_;
};

}  // namespace

CpuArchitecture resolve_march(const std::string& march) {
  CpuArchitecture architecture;
  architecture.march = march == "native" ? native_level() : march;
  ProcessResult result =
      run_process({compiler(), "-march=" + architecture.march, "-dM", "-E", "-x", "c++", "/dev/null"},
                  {std::nullopt, install_hint});
  user_check(result.succeeded(), "--march {}: clang does not know this CPU: {}", quote(march),
             printable_message(result.errors));
  auto defines = [&](std::string_view macro) {
    return result.output.find(fmt::format("#define {} ", macro)) != std::string::npos;
  };
  user_check(defines("__AVX2__") && defines("__FMA__") && defines("__F16C__"),
             "--march {}: onnxc's CPU code needs at least AVX2, FMA and F16C (x86-64-v3)", quote(march));
  for (const Feature& feature : features)
    if (defines(feature.macro)) architecture.features.emplace_back(feature.name);
  bool is_wide =
      defines("__AVX512F__") && defines("__AVX512BW__") && defines("__AVX512VL__") && defines("__AVX512DQ__");
  architecture.lanes = is_wide ? 16 : 8;
  return architecture;
}

void build_shared_object(const EmittedModel& model, const ToolchainOptions& options, const fs::path& output) {
  Build build(model, options);
  build.link(build.objects(), true, output);
}

void build_object(const EmittedModel& model, const ToolchainOptions& options, const fs::path& output) {
  Build build(model, options);
  build.link(build.objects(), false, output);
}

void write_source(const EmittedModel& model, const fs::path& output) {
  OutputFile source(output), weights(output.string() + ".weights");
  source.write(model.source);
  weights.write(model.weights);
  std::optional<OutputFile> device_source, device_weights;
  if (model.device) {
    device_source.emplace(output.string() + ".device.hip").write(model.device->source);
    device_weights.emplace(output.string() + ".device.weights").write(model.device->weights);
  }
  // Nothing is left behind when one of them cannot be written.
  for (OutputFile* file :
       {device_source ? &*device_source : nullptr, device_weights ? &*device_weights : nullptr, &weights, &source})
    if (file != nullptr) file->commit();
}

}  // namespace onnxc
