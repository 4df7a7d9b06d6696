#include "support/safe_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <set>

#include "support/diagnostics.h"
#include "support/file_descriptor.h"
#include "support/process_end.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;
using internal::ContainmentMethod;
using testing::HasSubstr;

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(MapFile, GivesTheBytes) {
  TemporaryFolder folder("test");
  put(folder.path() / "a", "hello");
  put(folder.path() / "empty", "");
  EXPECT_EQ(map_file(folder.path() / "a")->text(), "hello");
  EXPECT_EQ(map_file(folder.path() / "empty")->bytes().size(), 0u);
}

TEST(MapFile, ReleasedPagesAreReadAgain) {
  TemporaryFolder folder("test");
  put(folder.path() / "a", std::string(100'000, 'x'));
  const auto file = map_file(folder.path() / "a");
  EXPECT_EQ(file->text(), std::string(100'000, 'x'));
  file->release_pages();
  EXPECT_EQ(file->text(), std::string(100'000, 'x'));
}

TEST(MapFile, NamesWhatItCannotRead) {
  TemporaryFolder folder("test");
  EXPECT_THAT(error_of([&] { map_file(folder.path() / "missing"); }), HasSubstr("missing': No such file"));
  EXPECT_THAT(error_of([&] { map_file(folder.path()); }), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of([&] { map_file("/dev/null"); }), HasSubstr("'/dev/null': it is not a regular file"));
  mkfifo((folder.path() / "pipe").c_str(), 0600);
  EXPECT_THAT(error_of([&] { map_file(folder.path() / "pipe"); }), HasSubstr("it is not a regular file"));
}

TEST(MapFile, AFileThatBecomesShorterIsAnErrorThatNamesIt) {
  const auto read_cut_file = [](const fs::path& path, const std::string& message_start) {
    static_cast<void>(tidy_up_on_signals(message_start));
    put(path, std::string(100'000, 'x'));
    const auto file = map_file(path);
    fs::resize_file(path, 1);
    volatile std::byte last = file->bytes().back();
    static_cast<void>(last);
  };
  {
    TemporaryFolder folder("test");
    const fs::path weights = folder.path() / "weights";
    EXPECT_EXIT(read_cut_file(weights, "onnxc: error: 'm.onnx': "), testing::ExitedWithCode(1),
                "^onnxc: error: 'm.onnx': " + quote(weights.string()) + " became shorter while it was read");
  }
  TemporaryFolder folder("test");
  const fs::path model = folder.path() / "m.onnx";
  const std::string start = "onnxc: error: " + quote(model.string()) + ": ";
  EXPECT_EXIT(read_cut_file(model, start), testing::ExitedWithCode(1),
              "^" + start + "it became shorter while it was read");
}

TEST(MapFile, OtherBusErrorsEndTheProcess) {
  const auto read_past_file = [] {
    static_cast<void>(tidy_up_on_signals(""));
    raise(SIGBUS);
  };
  EXPECT_EXIT(read_past_file(), testing::KilledBySignal(SIGBUS), "");
}

TEST(MapFile, BytesOutliveTheNameAndTheFirstOwner) {
  TemporaryFolder folder("test");
  put(folder.path() / "a", "hello");
  std::shared_ptr<const MappedFile> second;
  {
    const auto first = map_file(folder.path() / "a");
    second = first;
  }
  fs::remove(folder.path() / "a");
  EXPECT_EQ(second->text(), "hello");
}

class MapFileWithin : public testing::TestWithParam<ContainmentMethod> {
 protected:
  MapFileWithin() : folder_("test"), model_(folder_.path() / "model") {
    fs::create_directories(model_ / "sub");
    fs::create_directories(folder_.path() / "secret");
    put(folder_.path() / "secret" / "key", "secret");
    put(model_ / "weights", "weights");
    put(model_ / "sub" / "more", "more");
  }

  std::string read(std::string_view name, const ContainmentRules& rules = {}) {
    return std::string(internal::map_file_within(model_, name, rules, GetParam())->text());
  }
  std::string error(std::string_view name) {
    return error_of([&] { read(name); });
  }

  TemporaryFolder folder_;
  fs::path model_;
};

TEST_P(MapFileWithin, ReadsFilesOfTheFolder) {
  EXPECT_EQ(read("weights"), "weights");
  EXPECT_EQ(read("sub/more"), "more");
  EXPECT_EQ(read("./weights"), "weights");
}

TEST_P(MapFileWithin, RefusesNamesThatLeadOut) {
  const std::string secret = (folder_.path() / "secret" / "key").string();
  for (std::string_view name :
       {std::string_view("../secret/key"), std::string_view("sub/../../secret/key"), std::string_view("sub/../weights"),
        std::string_view(secret), std::string_view("/"), std::string_view(""), std::string_view("."),
        std::string_view(".."), std::string_view("sub//more"), std::string_view("sub/"), std::string_view("..\\x"),
        std::string_view("C:\\x"), std::string_view("weights\0.txt", 12)}) {
    EXPECT_THAT(error(name), HasSubstr("is refused: it must be relative")) << name;
  }
}

TEST_P(MapFileWithin, RefusesSymbolicLinksAnywhereOnTheWay) {
  fs::create_symlink("../secret/key", model_ / "link");
  fs::create_directory_symlink("../secret", model_ / "folder_link");
  fs::create_symlink("weights", model_ / "link_inside");
  EXPECT_THAT(error("link"), HasSubstr("a symbolic link is on the way"));
  EXPECT_THAT(error("folder_link/key"), HasSubstr("a symbolic link is on the way"));
  EXPECT_THAT(error("link_inside"), HasSubstr("a symbolic link is on the way"));
}

TEST_P(MapFileWithin, RefusesHardLinksUnlessAllowed) {
  fs::create_hard_link(folder_.path() / "secret" / "key", model_ / "hard");
  EXPECT_THAT(error("hard"), HasSubstr("'hard': it has 2 hard links"));
  EXPECT_EQ(read("hard", {.allow_hard_links = true}), "secret");
}

TEST_P(MapFileWithin, NamesWhatItCannotRead) {
  EXPECT_THAT(error("missing"), HasSubstr("cannot open 'missing' in the folder"));
  EXPECT_THAT(error("missing/too"), HasSubstr("No such file"));
  EXPECT_THAT(error("weights/x"), HasSubstr("Not a directory"));
  EXPECT_THAT(error("sub"), HasSubstr("it is a folder"));
  mkfifo((model_ / "pipe").c_str(), 0600);
  EXPECT_THAT(error("pipe"), HasSubstr("it is not a regular file"));
}

TEST_P(MapFileWithin, AnEmptyFolderIsTheCurrentOne) {
  EXPECT_THAT(error_of([] { internal::map_file_within("", "no-such-file", {}, GetParam()); }),
              HasSubstr("cannot open 'no-such-file' in the folder '.'"));
}

INSTANTIATE_TEST_SUITE_P(Methods, MapFileWithin, testing::Values(ContainmentMethod::openat2, ContainmentMethod::walk),
                         [](const auto& info) {
                           return info.param == ContainmentMethod::openat2 ? "openat2" : "walk";
                         });

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  TemporaryFolder folder("test");
  const fs::path target = folder.path() / "out";
  put(target, "old");
  {
    OutputFile file(target);
    file.write("ne");
    file.write("w");
    EXPECT_EQ(map_file(target)->text(), "old");
    file.commit();
  }
  EXPECT_EQ(map_file(target)->text(), "new");
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("out"));
}

TEST(OutputFile, LeavesNothingWhenAbandoned) {
  TemporaryFolder folder("test");
  EXPECT_THROW(
      {
        OutputFile file(folder.path() / "out");
        file.write("x");
        throw UserError("the compile fails");
      },
      UserError);
  EXPECT_THAT(names_in(folder.path()), testing::IsEmpty());
}

TEST(OutputFile, AbandonedFilesAreRemovedAndThoseAtWorkStay) {
  TemporaryFolder folder("test");
  put(folder.path() / ".onnxc-1-0.tmp", "of a process that was killed");
  put(folder.path() / ".onnxc-note", "of the user");
  put(folder.path() / "a.tmp", "of the user");
  fs::create_directory(folder.path() / ".onnxc-1-2.tmp");
  OutputFile file(folder.path() / "a");
  file.write("hello");
  remove_abandoned_outputs(folder.path());
  EXPECT_TRUE(fs::exists(file.temporary_path()));
  file.sync();
  file.commit();
  EXPECT_EQ(map_file(folder.path() / "a")->text(), "hello");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{".onnxc-1-2.tmp", ".onnxc-note", "a", "a.tmp"}));
  remove_abandoned_outputs(folder.path() / "missing");
}

TEST(OutputFile, SeveralAtOnceDoNotMeet) {
  TemporaryFolder folder("test");
  OutputFile a(folder.path() / "a"), b(folder.path() / "b");
  a.write("a");
  b.write("b");
  b.commit();
  a.commit();
  EXPECT_EQ(map_file(folder.path() / "a")->text(), "a");
  EXPECT_EQ(map_file(folder.path() / "b")->text(), "b");
}

TEST(OutputFile, HasTheRightsThatTheUmaskLeaves) {
  TemporaryFolder folder("test");
  const mode_t old = umask(027);
  OutputFile data(folder.path() / "data"), library(folder.path() / "library", OutputFile::Kind::executable);
  data.commit();
  library.commit();
  umask(old);
  EXPECT_EQ(fs::status(folder.path() / "data").permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(fs::status(folder.path() / "library").permissions(), static_cast<fs::perms>(0750));
}

TEST(OutputFile, RefusesWhatIsNoFile) {
  TemporaryFolder folder("test");
  EXPECT_THAT(error_of([&] { OutputFile file(folder.path()); }), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of([] { OutputFile file("/dev/null"); }), HasSubstr("'/dev/null': it is not a regular file"));
  EXPECT_THAT(error_of([&] { OutputFile file(folder.path() / "no" / "out"); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { OutputFile file(folder.path() / ""); }), HasSubstr("it names no file"));
}

TEST(OutputFile, ReplacesASymbolicLinkAndLeavesItsTarget) {
  TemporaryFolder folder("test");
  put(folder.path() / "precious", "precious");
  fs::create_symlink("precious", folder.path() / "out");
  write_file(folder.path() / "out", "new");
  EXPECT_EQ(map_file(folder.path() / "precious")->text(), "precious");
  EXPECT_FALSE(fs::is_symlink(folder.path() / "out"));
}

TEST(WriteAll, NamesAFullDisk) {
  FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.is_open());
  const std::string text = "x";
  EXPECT_EQ(error_of([&] { internal::write_all(full.get(), std::as_bytes(std::span(text)), "'model.so'"); }),
            "cannot write 'model.so': No space left on device");
}

// A limit on the size of files fails in the same place as a full disk does.
TEST(OutputFile, LeavesNothingWhenTheDiskIsFull) {
  TemporaryFolder folder("test");
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {4096, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { write_file(folder.path() / "out", std::string(100000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(error, HasSubstr("out': File too large"));
  EXPECT_THAT(names_in(folder.path()), testing::IsEmpty());
}

TEST(MakeFolder, MakesParentsAndNamesWhatStandsInTheWay) {
  TemporaryFolder folder("test");
  make_folder(folder.path() / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder.path() / "a" / "b"));
  make_folder(folder.path() / "a" / "b");
  put(folder.path() / "file", "");
  EXPECT_THAT(error_of([&] { make_folder(folder.path() / "file"); }), HasSubstr("cannot make the folder"));
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
    EXPECT_EQ(refusal(name), "--output '" + name.string() + "' is the same file as --input '" + path("input").string() +
                                 "', which is an input and would be lost; give the output another name");
}

TEST_F(InputFilesTest, OtherOutputsAreAllowed) {
  write_file(path("other"), "data");
  fs::create_symlink("missing", path("broken"));
  for (const char* name : {"other", "new", "folder/input", "folder", "broken", "missing", "input/below"})
    EXPECT_EQ(refusal(path(name)), "no error") << name;
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
  EXPECT_EQ(refusal(path("tests/c")), "no error");
}

TEST_F(InputFilesTest, AFolderOfOutputsIsRefusedForTheFilesThatItWouldWrite) {
  const auto refused = [&](const std::string& written) {
    return error_of([&] {
      inputs_.check_outputs("--trace", folder_.path(), [&](const std::string& file) { return file == written; });
    });
  };
  EXPECT_THAT(refused("input"), HasSubstr("--trace '" + path("input").string() + "' is the same file as --input"));
  EXPECT_EQ(refused("output"), "no error");
  EXPECT_EQ(error_of([&] { inputs_.check_outputs("--trace", path("none"), [](const auto&) { return true; }); }),
            "no error");
}

}  // namespace
}  // namespace onnxc
