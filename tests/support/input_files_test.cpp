#include "support/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/diagnostics.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

class InputFilesTest : public testing::Test {
 protected:
  InputFilesTest() {
    write_file(path("input"), "data");
    fs::create_directory(path("folder"));
    inputs_.add("--input", path("input"));
    inputs_.add("MODEL", path("missing"));
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::string refusal(const fs::path& output) const {
    return error_of([&] { inputs_.check_output("--output", output); });
  }

  TemporaryFolder folder_{"test"};
  InputFiles inputs_;
};

TEST_F(InputFilesTest, AnOutputUnderEveryNameOfAnInputIsRefused) {
  fs::create_symlink("input", path("link"));
  fs::create_symlink("link", path("link of a link"));
  fs::create_directory_symlink(folder_.path(), path("folder") / "up");
  fs::create_hard_link(path("input"), path("hard"));
  for (const fs::path& name : {path("input"), path("./input"), path("folder/../input"), path("folder/up/input"),
                               path("link"), path("link of a link"), path("hard")})
    EXPECT_THAT(refusal(name), AllOf(HasSubstr("--output '" + name.string() + "' is the same file as --input '" +
                                               path("input").string() +
                                               "', which is an input and would be lost; give the output "
                                               "another name")));
}

TEST_F(InputFilesTest, OtherOutputsAreAllowed) {
  write_file(path("other"), "data");
  fs::create_symlink("missing", path("broken"));
  for (const char* name : {"other", "new", "folder/input", "folder", "broken", "missing", "input/below"})
    EXPECT_EQ(refusal(path(name)), "") << name;
}

TEST_F(InputFilesTest, TheFirstOptionOfAFileIsNamed) {
  inputs_.add("--expect", path("input"));
  EXPECT_THAT(refusal(path("input")), HasSubstr("the same file as --input "));
}

TEST_F(InputFilesTest, AllFilesOfAFolderOfInputs) {
  fs::create_directories(path("tests/set"));
  write_file(path("tests/a"), "a");
  write_file(path("tests/set/b"), "b");
  inputs_.add_folder("TESTS", path("tests"));
  inputs_.add_folder("TESTS", path("no folder"));
  EXPECT_THAT(refusal(path("tests/a")), HasSubstr("the same file as TESTS"));
  EXPECT_THAT(refusal(path("tests/set/b")), HasSubstr("the same file as TESTS"));
  EXPECT_EQ(refusal(path("tests/c")), "");
}

TEST_F(InputFilesTest, AFolderOfOutputsIsRefusedForTheFilesThatItWouldWrite) {
  const auto refused = [&](const std::string& written) {
    return error_of([&] {
      inputs_.check_outputs("--trace", folder_.path(), [&](const std::string& file) { return file == written; });
    });
  };
  EXPECT_THAT(refused("input"), HasSubstr("--trace '" + path("input").string() + "' is the same file as --input"));
  EXPECT_EQ(refused("output"), "");
  EXPECT_EQ(error_of([&] { inputs_.check_outputs("--trace", path("none"), [](const auto&) { return true; }); }), "");
}

}  // namespace
}  // namespace onnxc
