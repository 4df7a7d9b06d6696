// Accesses to global memory that nothing orders are reported, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gfx942sim/kernel_tools.h"

namespace gfx942sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string source = R"hip(
#define KERNEL __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256))) void
#define t (int)__builtin_amdgcn_workitem_id_x()
#define b (int)__builtin_amdgcn_workgroup_id_x()
#define STORE(pointer, value) __asm__ volatile("global_store_dword %0, %1, off" ::"v"(pointer), "v"(value) : "memory")
#define WAIT __asm__ volatile("s_waitcnt vmcnt(0)" ::: "memory")
#define BARRIER __asm__ volatile("s_barrier" ::: "memory")
template <class T>
__device__ T load(const T* p) {
  T value;
  __asm__ volatile("global_load_dword %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(value) : "v"(p) : "memory");
  return value;
}
#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
extern "C" {

// --- waves of a group -----------------------------------------------------------------------------------------------
KERNEL wave_exchange(int* p, int* out) {
  STORE(p + t, t + 1);
  WAIT;
  BARRIER;
  out[t] = load(p + (t + 64) % 256);
}
KERNEL wave_no_wait(int* p, int* out) {
  STORE(p + t, t + 1);
  BARRIER;
  out[t] = load(p + (t + 64) % 256);
}
KERNEL wave_late_wait(int* p, int* out) {
  STORE(p + t, t + 1);
  BARRIER;
  WAIT;
  BARRIER;
  out[t] = load(p + (t + 64) % 256);
}
KERNEL wave_no_barrier(int* p, int* out) {
  STORE(p + t, t + 1);
  WAIT;
  out[t] = load(p + (t + 192) % 256);
}
KERNEL wave_write_after_read(int* p, int* out) {
  out[t] = load(p + (t + 64) % 256);
  STORE(p + t, t + 1);
}
KERNEL wave_many_barriers(int* p, int* out) {
  for (int i = 0; i < 3000; ++i) {
    STORE(p + t, i);
    WAIT;
    BARRIER;
    out[t] = load(p + (t + 64) % 256);
    BARRIER;
  }
}

// --- work groups ----------------------------------------------------------------------------------------------------
KERNEL group_read_after_write(int* p, int* out) {
  p[256 * b + t] = b + 1;
  WAIT;
  out[256 * b + t] = load(p + (b ? 0 : 256 * b) + t);
}
KERNEL group_write_after_read(int* p, int* out) {
  int v = load(p + 256 * b + 256 + t);
  WAIT;
  p[256 * b + t] = v;
}
KERNEL group_write_after_many_reads(int* p, int* out) {
  out[256 * b + t] = load(p + t);
  if (b == 1) p[t] = 7;
}
KERNEL group_writes(int* p, int* out) { p[t] = b + 1; }
KERNEL group_writes_the_same(int* p, int* out) { p[t] = 5; }
KERNEL group_halves(short* p, int* out) {
  if (t == 0) p[b] = (short)(b + p[b]);
}
KERNEL group_atomics(int* p, int* out) { __hip_atomic_fetch_add(p + t % 8, 1, RELAXED); }
KERNEL group_atomic_and_store(int* p, int* out) {
  if (b)
    __hip_atomic_fetch_add(p + t, 1, RELAXED);
  else
    p[t] = 1;
}
KERNEL group_atomic_and_load(int* p, int* out) {
  if (b)
    out[t] = load(p + 1);
  else if (t == 0)
    __hip_atomic_fetch_add(p + 1, 1, RELAXED);
}
KERNEL scalar_read_of_a_write(const int* __restrict__ p, int* q, int* out) {
  if (b == 0) q[0] = 5;
  out[256 * b + t] = b == 0 ? 0 : p[0];
}

// --- messages between groups ----------------------------------------------------------------------------------------
KERNEL message(int* p, int* out) {
  if (b == 0) {
    p[1 + t] = 7 + t;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    BARRIER;
    if (t == 0) __hip_atomic_store(p, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else if (__hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 1) {
    out[256 * b + t] = p[1 + t];
  }
}
KERNEL message_no_fence(int* p, int* out) {
  if (b == 0) {
    p[1 + t] = 7 + t;
    WAIT;
    if (t == 0) __hip_atomic_store(p, 1, RELAXED);
  } else
    out[256 * b + t] = __hip_atomic_load(p, RELAXED) == 1 ? p[1 + t] : -1;
}
KERNEL message_no_release(int* p, int* out) {
  if (b == 0) {
    p[1 + t] = 7 + t;
    WAIT;
    if (t == 0) __hip_atomic_store(p, 1, RELAXED);
  } else if (__hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 1)
    out[256 * b + t] = p[1 + t];
}
KERNEL message_no_acquire(int* p, int* out) {
  if (b == 0) {
    p[1 + t] = 7 + t;
    __hip_atomic_store(p, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else
    out[256 * b + t] = __hip_atomic_load(p, RELAXED) == 1 ? p[1 + t] : -1;
}
// The last group to arrive adds up what all have written.
KERNEL last_group(int* p, int* out) {
  __attribute__((shared)) static int is_last;
  p[16 + 256 * b + t] = b + t;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  BARRIER;
  if (t == 0) is_last = __hip_atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) == 3;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  BARRIER;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  if (!is_last) return;
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += p[16 + 256 * i + t];
  out[t] = sum;
}

// --- lanes of a wave ------------------------------------------------------------------------------------------------
KERNEL lanes_in_memory(int* p, int* out) {
  if (t < 64) p[t / 2] = t;
}
KERNEL lanes_in_lds(int* p, int* out) {
  __attribute__((shared)) static int s[64];
  s[t / 4] = t;
  BARRIER;
  out[t] = s[t / 4];
}
KERNEL lanes_of_bytes(char* p, int* out) {
  if (t < 64) p[t / 2] = (char)(t & 1);
}
KERNEL lanes_that_agree(int* p, int* out) {
  if (t < 64) p[t / 2] = t / 2;
}
}
)hip";

class Races : public testing::Test {
 protected:
  static Device& device() {
    static Device shared(compile_hip(source));
    return shared;
  }
  // One thread of the host, so that groups run one after the other.
  static FaultReport fault(const std::string& kernel, uint32_t groups = 1,
                           gfx942sim::Races races = gfx942sim::Races::all) {
    device().options.threads = 1;
    device().options.races = races;
    const std::vector<uint32_t> zeros(2048);
    return device().fault(kernel, groups, 256, device().upload(zeros, "p"), device().upload(zeros, "out"));
  }
};

TEST_F(Races, OfWavesAreReported) {
  const FaultReport report = fault("wave_no_barrier");
  EXPECT_EQ(report.kernel, "wave_no_barrier");
  EXPECT_THAT(report.message, AllOf(StartsWith("reads 4 bytes at 0x"),
                                    HasSubstr(", at byte 0 of p (8192 bytes), which wave 0 of work "
                                              "group 0,0,0 wrote (global_store_dword "),
                                    HasSubstr("), without a barrier, and an s_waitcnt vmcnt before it, between")));
  EXPECT_THAT(report.instruction, StartsWith("global_load_dword"));
  EXPECT_EQ(report.wave, 1);
  EXPECT_EQ(report.lane, 0);
  EXPECT_THAT(fault("wave_no_wait").message, HasSubstr("which wave 1 of work group 0,0,0 wrote"));
  EXPECT_THAT(fault("wave_write_after_read").message, HasSubstr("which wave 0 of work group 0,0,0 read (global_load"));
}

TEST_F(Races, OfWavesInOrderAreNone) {
  for (const char* kernel : {"wave_exchange", "wave_late_wait", "wave_many_barriers"})
    EXPECT_EQ(fault(kernel).message, "") << kernel;
}

TEST_F(Races, OfWavesThatDoNotWaitMayBeTrusted) {
  EXPECT_EQ(fault("wave_no_wait", 1, gfx942sim::Races::except_waits).message, "");
  EXPECT_NE(fault("wave_no_barrier", 1, gfx942sim::Races::except_waits).message, "");
  EXPECT_EQ(fault("wave_no_barrier", 1, gfx942sim::Races::none).message, "");
}

TEST_F(Races, OfGroupsAreReported) {
  const FaultReport report = fault("group_read_after_write", 2);
  EXPECT_THAT(report.message, AllOf(HasSubstr("which wave 0 of work group 0,0,0 wrote (global_store_dword"),
                                    HasSubstr("without a release and an acquire at agent scope between")));
  EXPECT_EQ(report.group[0], 1U);
  EXPECT_THAT(fault("group_write_after_read", 2).message, HasSubstr("writes 4 bytes"));
  EXPECT_THAT(fault("group_write_after_read", 2).message, HasSubstr("of work group 0,0,0 read"));
  EXPECT_THAT(fault("group_writes", 2).message, HasSubstr("of work group 0,0,0 wrote"));
  EXPECT_THAT(fault("group_atomic_and_store", 2).message, HasSubstr("of work group 0,0,0 wrote"));
  EXPECT_THAT(fault("group_atomic_and_load", 2).message, HasSubstr("(global_atomic_add"));
  // Whoever of three comes in which order.
  EXPECT_THAT(fault("group_write_after_many_reads", 3).message, HasSubstr("several work groups read"));
}

TEST_F(Races, OfGroupsInOrderAreNone) {
  EXPECT_EQ(fault("group_read_after_write", 1).message, "");
  for (const char* kernel : {"group_writes_the_same", "group_halves", "group_atomics", "message", "last_group"})
    EXPECT_EQ(fault(kernel, 4).message, "") << kernel;
}

TEST_F(Races, OfMessagesWithoutFencesAreReported) {
  for (const char* kernel : {"message_no_fence", "message_no_release", "message_no_acquire"}) {
    const FaultReport report = fault(kernel, 2);
    EXPECT_THAT(report.message, AllOf(StartsWith("reads 4 bytes"), HasSubstr("of work group 0,0,0 wrote"))) << kernel;
    EXPECT_EQ(report.group[0], 1U) << kernel;
  }
}

TEST_F(Races, OfScalarLoadsAreReported) {
  device().options.threads = 1;
  device().options.races = gfx942sim::Races::all;
  const uint64_t p = device().upload(std::vector<uint32_t>(64), "p"), out = device().reserve<uint32_t>(512);
  const FaultReport report = device().fault("scalar_read_of_a_write", 2, 256, p, p, out);
  EXPECT_THAT(report.instruction, StartsWith("s_load_dword"));
  EXPECT_THAT(report.message, HasSubstr("of work group 0,0,0 wrote"));
}

TEST_F(Races, OfLanesAreReported) {
  const FaultReport report = fault("lanes_in_memory");
  EXPECT_THAT(report.message, HasSubstr("; lane 0 writes others with the same instruction: which of them stay is "
                                        "not defined"));
  EXPECT_EQ(report.lane, 1);
  EXPECT_THAT(fault("lanes_in_lds").message, HasSubstr("writes 4 bytes of LDS at 0x0; lane 0 writes others"));
  EXPECT_THAT(fault("lanes_of_bytes").message, HasSubstr("writes 1 bytes at"));
  EXPECT_EQ(fault("lanes_that_agree").message, "");
}

TEST_F(Races, AreFoundWhateverTheThreads) {
  for (int threads : {1, 2, 8}) {
    device().options.threads = threads;
    device().options.races = gfx942sim::Races::all;
    const std::vector<uint32_t> zeros(1 << 16);
    const uint64_t p = device().upload(zeros), out = device().upload(zeros);
    EXPECT_NE(device().fault("group_writes", 64, 256, p, out).message, "") << threads;
    EXPECT_EQ(device().fault("last_group", 4, 256, device().upload(zeros), out).message, "") << threads;
  }
}

}  // namespace
}  // namespace gfx942sim
