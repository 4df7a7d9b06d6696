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
  EXPECT_THAT(find_compiler({.compiler = "clang++-23", .glibc = {}}).linker, "lld-23");
  setenv("ONNXC_CXX", "/opt/clang", 1);
  EXPECT_THAT(find_compiler().command, ElementsAre("/opt/clang"));
  EXPECT_THAT(find_compiler({.compiler = "/opt/zig", .glibc = {}}).command.front(), "/opt/zig");
  unsetenv("ONNXC_CXX");
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
