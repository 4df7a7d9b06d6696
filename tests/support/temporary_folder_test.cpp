#include "support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

TEST(TemporaryFolder, IsPrivateAndRemovedWithItsContents) {
  std::filesystem::path path;
  {
    TemporaryFolder folder("test");
    path = folder.path();
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::filesystem::create_directory(path / "sub");
    std::ofstream(path / "sub" / "file") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, StaysWhenKept) {
  std::filesystem::path path;
  {
    TemporaryFolder folder("test");
    path = folder.path();
    folder.keep();
  }
  EXPECT_TRUE(std::filesystem::remove(path));
}

class TemporaryFolderEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    const char* value = std::getenv("TMPDIR");
    had_ = value != nullptr;
    if (had_) old_ = value;
  }
  void TearDown() override { had_ ? setenv("TMPDIR", old_.c_str(), 1) : unsetenv("TMPDIR"); }

 private:
  bool had_ = false;
  std::string old_;
};

TEST_F(TemporaryFolderEnvironment, HonoursTmpdir) {
  TemporaryFolder parent("test");
  setenv("TMPDIR", parent.path().c_str(), 1);
  TemporaryFolder folder("inner");
  EXPECT_EQ(folder.path().parent_path(), parent.path());
}

TEST_F(TemporaryFolderEnvironment, NamesAFolderThatIsNotThere) {
  setenv("TMPDIR", "/no/such/folder", 1);
  try {
    TemporaryFolder folder("test");
    FAIL() << "a folder was made in one that is not there";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot make a temporary folder in '/no/such/folder'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("TMPDIR"));
  }
}

}  // namespace
}  // namespace onnxc
