#include "toolchain/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::ThrowsMessage;

// A PATH with only these programs; the environment is put back at the end.
class Programs {
 public:
  Programs() {
    for (const char* name : {"ONNXC_CXX", "VIRTUAL_ENV"}) unsetenv(name);
    setenv("PATH", folder_.path().c_str(), 1);
  }
  ~Programs() { setenv("PATH", before_.c_str(), 1); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  void add(const std::string& name, const std::string& script = "#!/bin/sh\n") {
    make_folder((folder_.path() / name).parent_path());
    OutputFile file(folder_.path() / name, OutputFile::Kind::executable);
    file.write(script);
    file.commit();
  }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  std::string before_ = getenv("PATH");
  TemporaryFolder folder_{"test"};
};

TEST(FindCompiler, TheOldestClangThatIsNewEnoughAndHasItsLinker) {
  Programs programs;
  for (const char* name :
       {"clang++-18", "ld.lld-18", "clang++-19", "clang++-20", "ld.lld-20", "clang++-21", "ld.lld-21"})
    programs.add(name);
  const Compiler found = find_compiler();
  EXPECT_THAT(found.command, ElementsAre("clang++-20"));
  EXPECT_EQ(found.linker, "lld-20");
  EXPECT_EQ(found.describe(), "clang++-20 with lld-20");
  EXPECT_EQ(found.cpu_option("x86-64-v4"), "-march=x86-64-v4");
}

TEST(FindCompiler, ClangWithoutANumberIsAskedForIt) {
  Programs programs;
  programs.add("ld.lld");
  programs.add("clang++", "#!/bin/sh\necho 18.1.8\n");
  EXPECT_THROW(find_compiler(), UserError);
  programs.add("clang++", "#!/bin/sh\necho 22.1.0\n");
  EXPECT_THAT(find_compiler().command, ElementsAre("clang++"));
}

TEST(FindCompiler, ZigWhereThereIsNoClangOrAGlibcIsAskedFor) {
  Programs programs;
  programs.add("venv/lib/python3.12/site-packages/ziglang/zig");
  setenv("VIRTUAL_ENV", (programs.path() / "venv").c_str(), 1);
  const std::string zig = programs.path() / "venv/lib/python3.12/site-packages/ziglang/zig";
  const Compiler found = find_compiler();
  EXPECT_THAT(found.command, ElementsAre(zig, "c++", "-target", "x86_64-linux-gnu.2.28"));
  EXPECT_EQ(found.cpu_option("x86-64-v4"), "-mcpu=x86_64_v4");
  programs.add("clang++-19");
  programs.add("ld.lld-19");
  EXPECT_THAT(find_compiler().command, ElementsAre("clang++-19"));
  EXPECT_EQ(find_compiler({.compiler = {}, .glibc = "2.17"}).command.back(), "x86_64-linux-gnu.2.17");
  EXPECT_EQ(find_compiler({.compiler = "zig", .glibc = {}}).command.front(), zig);
  unsetenv("VIRTUAL_ENV");
}

TEST(FindCompiler, WhatIsAskedForByName) {
  Programs programs;
  for (const char* name : {"clang++-23", "opt/clang", "opt/zig"}) programs.add(name);
  const std::string clang = programs.path() / "opt/clang", zig = programs.path() / "opt/zig";
  EXPECT_THAT(find_compiler({.compiler = "clang++-23", .glibc = {}}).linker, "lld-23");
  setenv("ONNXC_CXX", clang.c_str(), 1);
  EXPECT_THAT(find_compiler().command, ElementsAre(clang));
  EXPECT_THAT(find_compiler({.compiler = zig, .glibc = {}}).command.front(), zig);
  unsetenv("ONNXC_CXX");
}

TEST(FindCompiler, WhatIsNotThereIsToldByItsName) {
  Programs programs;
  const auto find = [](const std::string& name) { return [=] { find_compiler({.compiler = name, .glibc = {}}); }; };
  EXPECT_THAT(find("clang++-99"), ThrowsMessage<UsageError>("--compiler: there is no command 'clang++-99' on the PATH; "
                                                            "apt-get install clang-19 lld-19, or pip install ziglang"));
  EXPECT_THAT(find("/none/clang++"),
              ThrowsMessage<UsageError>(HasSubstr("--compiler: there is no command '/none/clang++'; ")));
  setenv("ONNXC_CXX", "gone", 1);
  EXPECT_THAT([] { find_compiler(); },
              ThrowsMessage<UsageError>(HasSubstr("ONNXC_CXX: there is no command 'gone' on the PATH")));
  unsetenv("ONNXC_CXX");
}

// Zig itself takes its newest in place of one that it does not know.
TEST(FindCompiler, AGlibcThatZigDoesNotKnow) {
  Programs programs;
  programs.add("zig", "#!/bin/sh\nprintf '.glibc = .{\\n \"2.2.5\",\\n \"2.44.0\",\\n}'\n");
  const auto find = [](const std::string& glibc) {
    return [=] { return find_compiler({.compiler = {}, .glibc = glibc}); };
  };
  EXPECT_EQ(find("2.44")().glibc, "2.44");
  EXPECT_THAT(find("2.45"), ThrowsMessage<UsageError>("--glibc 2.45: '" + (programs.path() / "zig").string() +
                                                      "' has glibc up to 2.44"));
  programs.add("zig");  // one that says nothing
  EXPECT_EQ(find("2.99")().glibc, "2.99");
}

TEST(CompilesLibrariesFirst, ZigWithAnEmptyCache) {
  const TemporaryFolder cache("test");
  const Compiler zig{Compiler::Kind::zig, {"zig", "c++"}, "", "2.28"};
  setenv("ZIG_GLOBAL_CACHE_DIR", cache.path().c_str(), 1);
  EXPECT_TRUE(compiles_libraries_first(zig));
  EXPECT_FALSE(compiles_libraries_first({}));
  make_folder(cache.path() / "o");
  EXPECT_FALSE(compiles_libraries_first(zig));
  unsetenv("ZIG_GLOBAL_CACHE_DIR");
}

TEST(FindCompiler, SaysWhatToDoWhereNothingFits) {
  Programs programs;
  const auto find = [](const char* compiler, const char* glibc) {
    return [=] { find_compiler({.compiler = compiler, .glibc = glibc}); };
  };
  EXPECT_THAT(find("", ""), ThrowsMessage<UserError>(HasSubstr("pip install ziglang")));
  EXPECT_THAT(find("", "2.28"), ThrowsMessage<UserError>(HasSubstr("--glibc 2.28 is compiled by zig")));
  EXPECT_THAT(find("zig", ""), ThrowsMessage<UserError>(HasSubstr("pip install ziglang")));
  EXPECT_THAT(find("clang++-19", "2.28"), ThrowsMessage<UsageError>(HasSubstr("choose --compiler zig")));
  for (const char* version : {"3", "2.", "2.28.1", "2.x", "-"})
    EXPECT_THAT(find("", version), ThrowsMessage<UsageError>(HasSubstr("a version such as 2.28 is expected")));
}

}  // namespace
}  // namespace onnxc
