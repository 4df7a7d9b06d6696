#include "threads/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <thread>
#include <vector>

#include "threads/host_threads.h"
#include "threads/thread_count.h"

namespace onnxc::runtime {
namespace {

// Counts how often each task ran, and in how many calls at once a thread number was in use.
struct Counter {
  Counter(int64_t tasks, int threads)
      : ran(static_cast<size_t>(tasks)), busy(static_cast<size_t>(threads)), plain(static_cast<size_t>(threads) * 64) {}

  static void body(const void* context, int64_t begin, int64_t end, int thread) {
    Counter& counter = *static_cast<Counter*>(const_cast<void*>(context));
    size_t number = static_cast<size_t>(thread);
    if (number >= counter.busy.size() || counter.busy[number].fetch_add(1) != 0) counter.wrong_thread = true;
    for (int64_t i = begin; i < end; ++i) {
      ++counter.ran[static_cast<size_t>(i)];
      ++counter.plain[number * 64];  // not atomic: a thread number used twice at once is a race
    }
    counter.busy[number].fetch_sub(1);
  }

  void expect_each_once() const {
    EXPECT_FALSE(wrong_thread);
    for (size_t i = 0; i < ran.size(); ++i) ASSERT_EQ(ran[i], 1) << "task " << i;
    EXPECT_EQ(std::accumulate(plain.begin(), plain.end(), int64_t{0}), static_cast<int64_t>(ran.size()));
  }

  std::vector<int> ran;
  std::vector<std::atomic<int>> busy;
  std::vector<int64_t> plain;
  std::atomic<bool> wrong_thread = false;
};

TEST(ThreadPool, RunsEachTaskOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool;
    pool.set_threads(threads);
    for (int64_t tasks : {0, 1, 2, 3, 5, 7, 8, 63, 64, 65, 1000}) {
      Counter counter(tasks, threads);
      pool.run(tasks, threads, Counter::body, &counter);
      counter.expect_each_once();
    }
  }
}

TEST(ThreadPool, ManyShortJobs) {
  ThreadPool pool;
  pool.set_threads(3);
  for (int job = 0; job < 3000; ++job) {
    Counter counter(1 + job % 11, 3);
    pool.run(1 + job % 11, 3, Counter::body, &counter);
    counter.expect_each_once();
    if (job % 500 == 0) usleep(500);  // let the workers fall asleep
  }
}

TEST(ThreadPool, NarrowJobsStayBelowTheirWidth) {
  ThreadPool pool;
  pool.set_threads(4);
  for (int job = 0; job < 200; ++job) {
    Counter counter(40, 2);
    pool.run(40, 2, Counter::body, &counter);
    counter.expect_each_once();
  }
}

TEST(ThreadPool, SecondCallerWorksAlone) {
  ThreadPool pool;
  pool.set_threads(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int job = 0; job < 300; ++job) {
        Counter counter(37, 3);
        pool.run(37, 3, Counter::body, &counter);
        counter.expect_each_once();
      }
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, StartsAgainAfterStop) {
  ThreadPool pool;
  pool.set_threads(3);
  for (int round = 0; round < 20; ++round) {
    Counter counter(50, 3);
    pool.run(50, 3, Counter::body, &counter);
    counter.expect_each_once();
    pool.stop();
  }
}

TEST(ThreadPool, StartsNoThreadWithoutWork) {
  ThreadPool pool;
  pool.set_threads(most_threads);
  Counter counter(1, most_threads);
  pool.run(1, most_threads, Counter::body, &counter);
  counter.expect_each_once();
}

TEST(ThreadPool, IdleWorkersBurnNothing) {
  ThreadPool pool;
  pool.set_threads(4);
  Counter counter(100, 4);
  pool.run(100, 4, Counter::body, &counter);
  usleep(20'000);
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  usleep(200'000);
  getrusage(RUSAGE_SELF, &after);
  auto microseconds = [](const rusage& usage) {
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  EXPECT_LT(microseconds(after) - microseconds(before), 20'000);
}

#if !defined(__SANITIZE_THREAD__) && !__has_feature(thread_sanitizer)
// (ThreadSanitizer does not follow threads that a child of fork starts.)
TEST(ThreadPool, ChildOfForkStartsItsOwnWorkers) {
  ThreadPool pool;
  pool.set_threads(3);
  Counter before(50, 3);
  pool.run(50, 3, Counter::body, &before);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    Counter counter(5000, 3);
    pool.run(5000, 3, Counter::body, &counter);
    pool.stop();
    bool right = !counter.wrong_thread;
    for (int count : counter.ran) right = right && count == 1;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Counter after(50, 3);
  pool.run(50, 3, Counter::body, &after);
  after.expect_each_once();
}

TEST(ForkLock, ChildTakesWhatItsParentHeld) {
  ForkLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  pid_t child = fork();
  if (child == 0) _exit(lock.try_lock() && !lock.try_lock() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

// A host that runs one call a thread, on more threads than the instance has.
void host_parallel_for(void* host_context, int64_t tasks, onnxc_parallel_body body, void* body_context) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < tasks; ++i) threads.emplace_back([=] { body(body_context, i, i + 1); });
  for (std::thread& thread : threads) thread.join();
  ++*static_cast<int*>(host_context);
}

TEST(HostThreads, LeaseEachNumberOnce) {
  int calls = 0;
  HostThreads host;
  host.set(host_parallel_for, &calls, 3);
  Counter counter(20, 3);
  EXPECT_TRUE(host.run(20, Counter::body, &counter));
  counter.expect_each_once();
  EXPECT_EQ(calls, 1);
}

TEST(HostThreads, NoticeMissingTasks) {
  HostThreads host;
  host.set([](void*, int64_t tasks, onnxc_parallel_body body, void* context) { body(context, 0, tasks - 1); }, nullptr,
           2);
  Counter counter(20, 2);
  EXPECT_FALSE(host.run(20, Counter::body, &counter));
  // Tasks that do not exist are not run.
  host.set([](void*, int64_t tasks, onnxc_parallel_body body, void* context) { body(context, -5, tasks + 5); }, nullptr,
           2);
  Counter all(20, 2);
  EXPECT_TRUE(host.run(20, Counter::body, &all));
  all.expect_each_once();
}

TEST(ThreadCount, ReadsQuotas) {
  EXPECT_EQ(cgroup_quota("max 100000\n"), 0);
  EXPECT_EQ(cgroup_quota("-1\n 100000\n"), 0);
  EXPECT_EQ(cgroup_quota("200000 100000\n"), 2);
  EXPECT_EQ(cgroup_quota("150000 100000\n"), 2);
  EXPECT_EQ(cgroup_quota("1000 100000\n"), 1);
  EXPECT_EQ(cgroup_quota(""), 0);
}

TEST(ThreadCount, ReadsTheEnvironment) {
  setenv("OMP_NUM_THREADS", "5,2", 1);
  EXPECT_EQ(default_thread_count(), 5);
  setenv("ONNXC_THREADS", "3", 1);
  EXPECT_EQ(default_thread_count(), 3);
  unsetenv("ONNXC_THREADS");
  setenv("OMP_NUM_THREADS", "0", 1);  // OpenMP's own, which its libraries pass over as well
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace onnxc::runtime
