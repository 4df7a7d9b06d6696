// A model.so as a guest in its host's process: threads, fork, the floating-point environment, loading and dropping.
#include <fenv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <thread>

#include "runtime/instance_fixture.h"

namespace onnxc {
namespace {

using Process = Instance;

// Several callers at once, each with its own instance; `flags` say which pool they use.
void run_on_many_threads(const LoadedModel& model, uint32_t flags) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&, caller] {
      onnxc_instance* instance = model.create(3, flags);
      for (int64_t n = 1; n < 60; ++n) {
        FakeRun values(n * (1 + caller % 3));
        if (values.run(model.operator->(), instance) != ONNXC_OK || !values.right()) ++wrong;
      }
      model->destroy(instance);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ManyInstancesRunAtOnce) { run_on_many_threads(LoadedModel("fake_model.so"), 0); }
TEST(Threads, ManyInstancesShareAPool) { run_on_many_threads(LoadedModel("fake_model.so"), ONNXC_SHARED_POOL); }

TEST_F(Process, LeavesTheFloatingPointEnvironmentAndErrno) {
  fenv_t before;
  fegetenv(&before);
  fesetround(FE_UPWARD);
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_UNDERFLOW);
  errno = 1234;
  FakeRun values(3);
  values.x[0] = 0.1f;
  onnxc_status status = run(values);
  int errno_after = errno, rounding = fegetround(), exceptions = fetestexcept(FE_ALL_EXCEPT);
  fesetenv(&before);
  EXPECT_EQ(status, ONNXC_OK);
  EXPECT_EQ(errno_after, 1234);
  EXPECT_EQ(rounding, FE_UPWARD);
  EXPECT_EQ(exceptions, FE_UNDERFLOW);
  // And the arithmetic inside was to nearest.
  EXPECT_TRUE(values.right());
}

#if !__has_feature(thread_sanitizer)
TEST_F(Process, GoesOnInAChildOfFork) {
  expect_right(100);
  onnxc_instance* sharing = model.create(3, ONNXC_SHARED_POOL);
  FakeRun shared(100);
  ASSERT_EQ(shared.run(model.operator->(), sharing), ONNXC_OK);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool right = true;
    for (onnxc_instance* inherited : {instance, sharing}) {
      FakeRun values(200);
      right = right && values.run(model.operator->(), inherited) == ONNXC_OK && values.right();
      model->destroy(inherited);
    }
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_right(100);
  model->destroy(sharing);
}
#endif

int count_threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  return -1;
}

// The kernel counts a thread for a moment after it was joined. Waits for `expected`, five seconds at most.
int count_threads_until(int expected) {
  for (int wait = 0; wait < 5000 && count_threads() != expected; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return count_threads();
}

// Without those that an earlier test has just joined.
int count_settled_threads() {
  int count = count_threads();
  for (int last = -1; last != count; count = count_threads()) {
    last = count;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return count;
}

TEST(Manners, ThreadsComeWithWorkAndGoWithTheInstance) {
  int before = count_settled_threads();
  LoadedModel model("fake_model.so");
  onnxc_instance* instance = model.create(3);
  EXPECT_EQ(count_threads(), before);
  FakeRun one(1);
  ASSERT_EQ(one.run(model.operator->(), instance), ONNXC_OK);
  EXPECT_EQ(count_threads(), before);
  FakeRun many(100);
  ASSERT_EQ(many.run(model.operator->(), instance), ONNXC_OK);
  EXPECT_EQ(count_threads(), before + 2);
  model->destroy(instance);
  EXPECT_EQ(count_threads_until(before), before);
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
TEST(Manners, LibraryNeedsTheCLibraryAlone) {
  LoadedModel model("fake_model.so");
  std::map<ElfW(Sxword), ElfW(Xword)> entries;
  std::vector<ElfW(Xword)> needed;
  for (const ElfW(Dyn)* entry = model.link_map()->l_ld; entry->d_tag != DT_NULL; ++entry) {
    entries[entry->d_tag] = entry->d_un.d_val;
    if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
  }
  for (ElfW(Xword) name : needed) {
    std::string library = reinterpret_cast<const char*>(entries[DT_STRTAB]) + name;
    EXPECT_TRUE(library == "libc.so.6" || library == "libm.so.6" || library == "ld-linux-x86-64.so.2") << library;
  }
  // One constructor, the C compiler's own, which does nothing in a library without exceptions.
  EXPECT_LE(entries[DT_INIT_ARRAYSZ], sizeof(void*));
  EXPECT_FALSE(entries.contains(DT_TEXTREL));
}
#endif

TEST(Manners, LibraryIsLoadedAndDroppedManyTimes) {
  for (int round = 0; round < 200; ++round) {
    LoadedModel model("fake_model.so");
    onnxc_instance* instance = model.create(2, round % 2 == 0 ? ONNXC_SHARED_POOL : 0);
    FakeRun values(20);
    ASSERT_EQ(values.run(model.operator->(), instance), ONNXC_OK);
    ASSERT_TRUE(values.right());
    model->destroy(instance);
  }
}

}  // namespace
}  // namespace onnxc
