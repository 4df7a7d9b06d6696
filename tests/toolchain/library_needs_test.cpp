#include "toolchain/library_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/diagnostics.h"
#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

// Symbols whose versions are known: exp of the C mathematics library is new in 2.29, sigabbrev_np of libc in 2.32.
std::filesystem::path library(const TemporaryFolder& folder, const std::string& source) {
  const std::filesystem::path code = folder.path() / "code.c", output = folder.path() / "code.so";
  write_file(code, source);
  const ProcessResult result =
      run_process({"clang-19", "-shared", "-fPIC", "-Wl,--as-needed", code.string(), "-lm", "-o", output.string()});
  EXPECT_TRUE(result.succeeded()) << result.errors;
  return output;
}

TEST(LibraryNeeds, TheNewestVersionAndTheLibraries) {
  const TemporaryFolder folder("test");
  LibraryNeeds needs = needs_of(library(folder, "double exp(double); double f(double x) { return exp(x); }"));
  EXPECT_EQ(needs.glibc, "2.29");
  EXPECT_THAT(needs.libraries, testing::Contains("libm.so.6"));
  needs = needs_of(library(folder, "const char* sigabbrev_np(int); const char* f(void) { return sigabbrev_np(1); }"));
  EXPECT_EQ(needs.glibc, "2.32");
  EXPECT_THAT(needs.libraries, testing::ElementsAre("libc.so.6"));
  // 2.17 is newer than the 2.3.4 of a checked memcpy, whatever their spellings say.
  needs = needs_of(library(folder,
                           "char* secure_getenv(const char*); void* __memcpy_chk(void*, const void*, unsigned long, "
                           "unsigned long); void* f(void* a) { return __memcpy_chk(a, secure_getenv(\"x\"), 1, 1); }"));
  EXPECT_EQ(needs.glibc, "2.17");
}

TEST(LibraryNeeds, AFileThatIsCutShortOrNoLibrary) {
  const TemporaryFolder folder("test");
  const std::filesystem::path whole = library(folder, "double exp(double); double f(double x) { return exp(x); }");
  const std::string bytes(map_file(whole)->text());
  const std::filesystem::path cut = folder.path() / "cut.so";
  for (size_t size = 0; size < bytes.size(); size += 97) {
    write_file(cut, std::string_view(bytes).substr(0, size));
    EXPECT_THROW(needs_of(cut), UserError) << size;
  }
  write_file(cut, "no library, but a text of some length that is long enough to hold a header of ELF's, so to say");
  EXPECT_THROW(needs_of(cut), UserError);
}

}  // namespace
}  // namespace onnxc
