#include "support/processes/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "support/diagnostics.h"
#include "support/processes/subprocess.h"
#include "support/safe_file.h"
#include "support/temporary_folder.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

// Whether `attempt` works in a process that has entered the sandbox.
bool works_within(const SandboxRules& rules, const std::function<bool()>& attempt) {
  const pid_t process = fork();
  if (process == 0) {
    try {
      if (!enter_sandbox(rules).empty()) _exit(2);
      _exit(attempt() ? 0 : 1);
    } catch (...) {
      _exit(3);
    }
  }
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) ADD_FAILURE() << "the kernel lacks a part";
  EXPECT_LE(WEXITSTATUS(status), 2);
  return WEXITSTATUS(status) == 0;
}

class Sandbox : public testing::Test {
 protected:
  Sandbox() {
    for (const char* name : {"read", "run", "write", "other"}) {
      fs::create_directory(folder_.path() / name);
      write_file(folder_.path() / name / "file", "text");
      fs::copy("/bin/true", folder_.path() / name / "program");
    }
    rules_.readable = {at("read")};
    rules_.runnable = {at("run"), "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null"};
    rules_.writable = {at("write")};
  }
  fs::path at(const std::string& name) const { return folder_.path() / name; }
  bool reads(const std::string& name) const {
    return works_within(rules_, [&] { return open(at(name).c_str(), O_RDONLY) >= 0; });
  }
  bool writes(const std::string& name) const {
    return works_within(rules_, [&] { return open(at(name).c_str(), O_WRONLY) >= 0; });
  }
  bool makes(const std::string& name) const {
    return works_within(rules_, [&] { return open(at(name).c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0; });
  }
  bool runs(const std::string& name) const {
    return works_within(rules_, [&] {
      execl(at(name).c_str(), "program", nullptr);
      return false;
    });
  }

  TemporaryFolder folder_{"test"};
  SandboxRules rules_;
};

TEST_F(Sandbox, ReadsWhatItMay) {
  EXPECT_TRUE(reads("read/file"));
  EXPECT_TRUE(reads("run/file"));
  EXPECT_TRUE(reads("write/file"));
  EXPECT_FALSE(reads("other/file"));
  EXPECT_FALSE(reads("other"));
}

TEST_F(Sandbox, WritesWhereItMay) {
  EXPECT_TRUE(writes("write/file"));
  EXPECT_TRUE(makes("write/new"));
  for (const char* name : {"read", "run", "other"}) {
    EXPECT_FALSE(writes(std::string(name) + "/file")) << name;
    EXPECT_FALSE(makes(std::string(name) + "/new")) << name;
  }
  EXPECT_FALSE(works_within(rules_, [&] { return rename(at("write/file").c_str(), at("other/x").c_str()) == 0; }));
  EXPECT_TRUE(works_within(rules_, [&] { return rename(at("write/file").c_str(), at("write/x").c_str()) == 0; }));
}

TEST_F(Sandbox, RunsProgramsOfTheToolchainAlone) {
  EXPECT_TRUE(runs("run/program"));
  for (const char* name : {"read/program", "write/program", "other/program"}) EXPECT_FALSE(runs(name)) << name;
}

TEST_F(Sandbox, ALinkGivesNoWay) {
  fs::create_symlink(at("other/file"), at("read/link"));
  EXPECT_FALSE(reads("read/link"));
}

TEST_F(Sandbox, OpensNoSocket) {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
    EXPECT_FALSE(works_within(rules_, [&] { return socket(family, SOCK_DGRAM, 0) >= 0; })) << family;
}

TEST_F(Sandbox, AProgramThatItStartsIsInside) {
  EXPECT_TRUE(works_within(rules_, [&] { return run_process({"cat", at("read/file")}).output == "text"; }));
  EXPECT_FALSE(works_within(rules_, [&] { return run_process({"cat", at("other/file")}).succeeded(); }));
}

TEST_F(Sandbox, ARuleForAFileHoldsForItAlone) {
  write_file(at("other/single"), "text");
  rules_.readable.push_back(at("other/single"));
  EXPECT_TRUE(reads("other/single"));
  EXPECT_FALSE(reads("other/file"));
}

TEST_F(Sandbox, LeavesOutWhatIsNotThere) {
  rules_.readable.push_back(at("missing/folder"));
  EXPECT_TRUE(reads("read/file"));
}

}  // namespace
}  // namespace onnxc
