#include "toolchain/build_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

namespace fs = std::filesystem;

namespace {

// Without a map of the output file: a full disk would end lld by a signal instead of a message.
std::vector<std::string> linking(const Compiler& compiler) {
  std::vector<std::string> command = compiler.command;
  if (!compiler.is_zig()) command.insert(command.end(), {"-fuse-ld=" + compiler.linker, "-Wl,--no-mmap-output-file"});
  return command;
}

}  // namespace

std::vector<std::string> compile_command(const Compiler& compiler, const CpuMachine& machine, const BuildParts& parts,
                                         const std::string& source, const std::string& object) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), {"-c", source, "-o", object, compiler.cpu_option(machine.name_for_clang())});
  if (machine.vectors.lanes == machine::avx512.lanes) command.emplace_back("-mprefer-vector-width=512");
  for (const char* argument : {"-std=c++20", "-O3", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden",
                               "-ffp-contract=on", "-fno-math-errno", "-fno-trapping-math", "-ffunction-sections",
                               "-fno-asynchronous-unwind-tables", "-fno-ident", "-Wno-everything"})
    command.emplace_back(argument);
  // Flags that zig adds unless it is told otherwise.
  if (compiler.is_zig()) command.insert(command.end(), {"-fno-sanitize=all", "-fno-stack-protector", "-g0"});
  for (const fs::path& include : parts.include_folders) command.push_back("-I" + include.string());
  return command;
}

std::vector<std::string> assemble_command(const Compiler& compiler, const std::string& assembly,
                                          const std::string& object) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), {"-c", assembly, "-o", object});
  if (compiler.is_zig()) command.emplace_back("-g0");  // the name of a temporary file
  return command;
}

std::vector<std::string> link_command(const Compiler& compiler, const std::vector<std::string>& objects,
                                      const std::string& output) {
  std::vector<std::string> command = linking(compiler);
  command.insert(command.end(), {"-nostdlib", "-r"});
  command.insert(command.end(), objects.begin(), objects.end());
  command.insert(command.end(), {"-o", output});
  return command;
}

std::vector<std::string> link_shared_command(const Compiler& compiler, const std::vector<std::string>& objects,
                                             const BuildParts& parts, const std::string& output) {
  std::vector<std::string> command = linking(compiler);
  for (const char* argument : {"-shared", "-nostdlib++", "-Wl,--as-needed", "--rtlib=compiler-rt", "--unwindlib=none",
                               "-Wl,--no-undefined", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack",
                               "-Wl,--gc-sections", "-Wl,-u,onnxc_get_api", "-Wl,--build-id=none"})
    command.emplace_back(argument);
  command.insert(command.end(), objects.begin(), objects.end());
  command.insert(command.end(), {parts.runtime.string(), "-lm", "-o", output});
  return command;
}

std::vector<std::string> dry_run(std::vector<std::string> command) {
  command.emplace_back("-###");
  return command;
}

std::string namespace_option(const CpuMachine& machine) {
  std::string name = machine.march;
  std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
  return "-Donnxc=onnxc_" + name;
}

std::string kernel_instances(const BuildParts& parts) {
  std::set<std::string> files;
  for (const fs::directory_entry& file :
       fs::recursive_directory_iterator(parts.include_folders.front() / "kernels" / "cpu"))
    if (file.path().filename().string().ends_with("_instances.cpp")) files.insert(file.path().string());
  internal_check(!files.empty(), "kernels that are compiled once for each vector unit, beside their headers");
  std::string text;
  for (const std::string& file : files) text += fmt::format("#include {}\n", c_string_literal(file));
  return text;
}

// A line of quoted words; a backslash makes the next character mean itself.
std::vector<std::string> command_of_dry_run(const std::string& shown) {
  const size_t begin = shown.rfind("\n \"");
  std::vector<std::string> words;
  if (begin == std::string::npos) return words;
  bool is_inside = false;
  for (size_t i = begin + 1; i < shown.size() && shown[i] != '\n'; ++i) {
    if (shown[i] == '"') {
      is_inside = !is_inside;
      if (is_inside) words.emplace_back();
    } else if (is_inside) {
      if (shown[i] == '\\' && i + 1 < shown.size()) ++i;
      words.back() += shown[i];
    }
  }
  return words;
}

std::string data_assembly(const std::string& section, const std::string& symbol, const std::string& file) {
  return fmt::format(
      ".section {0}, \"al\", @progbits\n"
      ".balign 4096\n"  // code objects want the alignment of a page
      ".globl {1}\n"
      ".hidden {1}\n"
      "{1}:\n"
      ".incbin {2}\n"
      ".byte 0\n"
      ".section .note.GNU-stack, \"\", @progbits\n",
      section, symbol, c_string_literal(file));
}

std::vector<std::string> build_lines(const CpuMachine& machine) {
  const BuildParts parts = installed_parts("$PREFIX");
  const Compiler compiler;
  const std::vector<std::string> objects{"$SOURCE.o", "$SOURCE.data.o"};
  std::vector<std::string> lines;
  for (const std::vector<std::string>& command : {compile_command(compiler, machine, parts, "$SOURCE", objects[0]),
                                                  assemble_command(compiler, "$SOURCE.data.s", objects[1]),
                                                  link_shared_command(compiler, objects, parts, "model.so")})
    lines.push_back(fmt::format("{}", fmt::join(command, " ")));
  return lines;
}

}  // namespace onnxc
