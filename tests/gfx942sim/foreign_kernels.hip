// Kernels in other styles than onnxc's, for the simulator's tests: what people write by hand, with the words of clang
// alone. A block has 256 threads unless said otherwise; `n` is the number of elements.
typedef unsigned u32;
typedef unsigned long long u64;
typedef long long i64;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef short short2v __attribute__((ext_vector_type(2)));

#define KERNEL extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 256))) void

__device__ static int thread() { return __builtin_amdgcn_workitem_id_x(); }
__device__ static int block() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ static int index() { return block() * 256 + thread(); }
__device__ static void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// --- lanes -------------------------------------------------------------------------------------------------------------

// The sum of each wave, by the DPP tree that compilers emit for wave64.
KERNEL sum_by_dpp(const int* x, int* sums) {
  int v = x[index()];
  v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false);  // row_shr:1
  v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xe, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xc, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, false);  // row_bcast:15
  v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, false);  // row_bcast:31
  const int total = __builtin_amdgcn_readlane(v, 63);
  if (thread() % 64 == 0) sums[index() / 64] = total;
}

// Running sums within each wave, through ds_bpermute.
KERNEL scan_by_permute(const float* x, float* y) {
  const int lane = thread() % 64;
  float v = x[index()];
  for (int distance = 1; distance < 64; distance *= 2) {
    const int other = __builtin_amdgcn_ds_bpermute((lane - distance) * 4, __builtin_bit_cast(int, v));
    if (lane >= distance) v += __builtin_bit_cast(float, other);
  }
  y[index()] = v;
}

// Each lane's value, moved in several ways.
KERNEL move_lanes(const int* x, int* y, int n) {
  const int i = index(), v = x[i];
  y[i] = __builtin_amdgcn_update_dpp(0, v, 0x1b, 0xf, 0xf, true);           // quad_perm:[3,2,1,0]
  y[n + i] = __builtin_amdgcn_update_dpp(0, v, 0x140, 0xf, 0xf, true);      // row_mirror
  y[2 * n + i] = __builtin_amdgcn_update_dpp(0, v, 0x141, 0xf, 0xf, true);  // row_half_mirror
  y[3 * n + i] = __builtin_amdgcn_update_dpp(0, v, 0x125, 0xf, 0xf, true);  // row_ror:5
  y[4 * n + i] = __builtin_amdgcn_update_dpp(-7, v, 0x103, 0xf, 0xf, false);  // row_shl:3, others keep -7
  y[5 * n + i] = __builtin_amdgcn_ds_swizzle(v, 0x041f);                    // BITMASK_PERM xor 1
  y[6 * n + i] = __builtin_amdgcn_ds_permute(((thread() * 5 + 3) % 64) * 4, v);
  y[7 * n + i] = __builtin_amdgcn_update_dpp(0, v, 0x15a, 0xf, 0xf, true);  // row_newbcast:10
}

// The number of steps of the 3n+1 problem: lanes leave the loop at different times. Then the active lanes' ballot.
KERNEL diverge(const u32* x, u32* steps, u64* ballots) {
  u32 v = x[index()], count = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    ++count;
  }
  steps[index()] = count;
  const u64 ballot = __builtin_amdgcn_ballot_w64(count % 3 == 0);
  const u32 below = __builtin_amdgcn_mbcnt_hi((u32)(ballot >> 32), __builtin_amdgcn_mbcnt_lo((u32)ballot, 0));
  ballots[index()] = ballot + ((u64)below << 40);
}

// The largest value of a wave by a loop over its different values.
KERNEL first_lanes(const int* x, int* y) {
  int v = x[index()], largest = -2147483647 - 1;
  bool done = false;
  while (!done) {
    const int first = __builtin_amdgcn_readfirstlane(v);
    largest = first > largest ? first : largest;
    if (v == first) done = true;
    if (__builtin_amdgcn_ballot_w64(!done) == 0) break;
  }
  y[index()] = largest;
}

// --- LDS ---------------------------------------------------------------------------------------------------------------

// A tree over LDS, then an atomic of each block.
KERNEL sum_by_tree(const float* x, float* total, int n) {
  __shared__ float part[256];
  part[thread()] = index() < n ? x[index()] : 0;
  barrier();
  for (int half = 128; half > 0; half /= 2) {
    if (thread() < half) part[thread()] += part[thread() + half];
    barrier();
  }
  if (thread() == 0) __hip_atomic_fetch_add(total, part[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// How often each of 64 values occurs, in LDS and then over all blocks.
KERNEL histogram(const unsigned char* x, u32* counts, int n) {
  __shared__ u32 bins[64];
  if (thread() < 64) bins[thread()] = 0;
  barrier();
  if (index() < n) __hip_atomic_fetch_add(&bins[x[index()] % 64], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (thread() < 64)
    __hip_atomic_fetch_add(&counts[thread()], bins[thread()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// A matrix of 16 x 16 tiles, transposed.
KERNEL transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[16][17];
  const int tiles = (columns + 15) / 16, row = block() / tiles * 16, column = block() % tiles * 16;
  const int i = thread() / 16, j = thread() % 16;
  if (row + i < rows && column + j < columns) tile[i][j] = x[(row + i) * columns + column + j];
  barrier();
  if (row + j < rows && column + i < columns) y[(column + i) * rows + row + j] = tile[j][i];
}

// A pointer that leads into LDS or into memory, as the data decides.
__device__ __attribute__((noinline)) int follow(const int* place, int i) { return place[i]; }
KERNEL through_flat(const int* x, int* y) {
  __shared__ int own[256];
  own[thread()] = 1000 + thread();
  barrier();
  const int v = x[index()];
  const int* place = v & 1 ? own : x;
  y[index()] = follow(place, (thread() + v) & 255);
}

// --- atomics -----------------------------------------------------------------------------------------------------------

KERNEL atomics(const int* x, int* out, u64* wide, double* sum) {
  const int v = x[index()];
  __hip_atomic_fetch_max(&out[0], v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_min(&out[1], v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(&out[2], v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_or(&out[3], v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_and(&out[4], v | 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  // A slot for each thread: the values before are all different.
  const int slot = __hip_atomic_fetch_add(&out[5], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[16 + slot] = v;
  __hip_atomic_fetch_add(&wide[0], (u64)v << 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(sum, (double)v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  // The largest square, by compare and exchange.
  float* largest = (float*)&out[6];
  float seen = *(volatile float*)largest;
  while (seen < (float)v * v &&
         !__hip_atomic_compare_exchange_strong(largest, &seen, (float)v * v, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __HIP_MEMORY_SCOPE_AGENT)) {
  }
}

// --- arithmetic --------------------------------------------------------------------------------------------------------

KERNEL packed_halves(const half2* x, const half2* y, half2* out, int n) {
  const int i = index();
  const half2 a = x[i], b = y[i];
  out[i] = a * b + a;
  out[n + i] = __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, -b);
  out[2 * n + i] = __builtin_elementwise_fma(a, half2{b.y, b.x}, half2{a.x, a.x});
  const half2 magnitude = __builtin_elementwise_abs(a);
  out[3 * n + i] = half2{(_Float16)__builtin_amdgcn_fdot2(a, b, 1.0f, false), magnitude.y};
}

KERNEL packed_floats(const float2v* x, const float2v* y, float2v* out, int n) {
  const int i = index();
  const float2v a = x[i], b = y[i];
  out[i] = __builtin_elementwise_fma(a, b, float2v{b.y, b.x});
  out[n + i] = a + b * float2v{3, 3};
  out[2 * n + i] = -a * float2v{b.x, b.x};
}

KERNEL packed_integers(const short2v* x, const short2v* y, short2v* out, int n) {
  const int i = index();
  const short2v a = x[i], b = y[i];
  out[i] = a * b + a;
  out[n + i] = __builtin_elementwise_max(a, b);
  out[2 * n + i] = __builtin_elementwise_min(a, b) - (b >> (short2v){3, 3});
  out[3 * n + i] = a << (b & (short2v){7, 7});
}

KERNEL doubles(const double* x, const double* y, double* out, int n) {
  const int i = index();
  const double a = x[i], b = y[i];
  out[i] = a / b;
  out[n + i] = __builtin_fma(a, b, -a);
  out[2 * n + i] = __builtin_sqrt(__builtin_fabs(a));
  out[3 * n + i] = __builtin_floor(a) + __builtin_ceil(b) + __builtin_trunc(a * b) + __builtin_rint(a + 0.5);
  out[4 * n + i] = (double)(float)a + (double)(int)b + (double)(u32)__builtin_fabs(b) + (double)(i64)(a * 1e6);
  out[5 * n + i] = a < b ? __builtin_fmin(a, b) : __builtin_fmax(a, b) * 0x1p-20;
}

KERNEL wide_integers(const i64* x, const i64* y, i64* out, int n) {
  const int i = index();
  const i64 a = x[i], b = y[i];
  out[i] = a / b;
  out[n + i] = a % b;
  out[2 * n + i] = (i64)((u64)a / (u64)b);
  out[3 * n + i] = a * b;
  out[4 * n + i] = (i64)(((unsigned __int128)(u64)a * (u64)b) >> 64);
  out[5 * n + i] = (a << (b & 63)) ^ (a >> (b & 31)) ^ (i64)((u64)a >> (b & 63));
  out[6 * n + i] = (a < b ? a - b : b - a) + ((u64)a < (u64)b);
}

KERNEL bits(const u32* x, const u32* y, u32* out, int n) {
  const int i = index();
  const u32 a = x[i], b = y[i];
  out[i] = __builtin_popcount(a) + 100 * (a ? __builtin_clz(a) : 32) + 10000 * (a ? __builtin_ctz(a) : 32);
  out[n + i] = __builtin_bitreverse32(a) ^ __builtin_bswap32(b);
  out[2 * n + i] = __builtin_amdgcn_perm(a, b, 0x07020500 + (b & 3));
  out[3 * n + i] = __builtin_amdgcn_alignbit(a, b, b & 31);
  out[4 * n + i] = __builtin_amdgcn_ubfe(a, b & 31, 7) + __builtin_amdgcn_sbfe((int)a, b & 15, 9);
  out[5 * n + i] = (a >> (b & 31)) | (a << (-b & 31));
  out[6 * n + i] = a / b + a % b;
  out[7 * n + i] = __builtin_amdgcn_sad_u8(a, b, 5);
  out[8 * n + i] = (u32)__builtin_amdgcn_sdot4((int)a, (int)b, 7, false);
  // Bytes to floats.
  out[9 * n + i] = __builtin_bit_cast(
      u32, (float)(a & 255) + 2 * (float)(a >> 8 & 255) + 3 * (float)(a >> 16 & 255) + 4 * (float)(a >> 24));
}

KERNEL floats(const float* x, const float* y, float* out, int n) {
  const int i = index();
  const float a = x[i], b = y[i];
  out[i] = a / b;
  out[n + i] = __builtin_sqrtf(__builtin_fabsf(a));
  out[2 * n + i] = __builtin_amdgcn_fractf(a) + __builtin_amdgcn_fmed3f(a, b, 1.0f);
  out[3 * n + i] = __builtin_ldexpf(a, (int)b % 16);
  int exponent;
  const float mantissa = __builtin_frexpf(a, &exponent);
  out[4 * n + i] = mantissa + (float)exponent;
  out[5 * n + i] = __builtin_amdgcn_exp2f(a * 0.01f) + __builtin_amdgcn_logf(__builtin_fabsf(b));
  out[6 * n + i] = __builtin_copysignf(a, b) + (__builtin_isinf(a / b) ? 1.0f : 0.0f);
  out[7 * n + i] = (float)(_Float16)a + (float)(__bf16)b + (float)(signed char)(int)b + (float)(unsigned short)(u32)__builtin_fabsf(a);
}

// --- scratch and calls -------------------------------------------------------------------------------------------------

// An array that is indexed by data cannot live in registers.
KERNEL sort_in_scratch(const int* x, int* y) {
  int values[16];
  for (int i = 0; i < 16; ++i) values[i] = x[index() * 16 + i];
  for (int i = 1; i < 16; ++i) {
    const int v = values[i];
    int j = i;
    while (j > 0 && values[j - 1] > v) {
      values[j] = values[j - 1];
      --j;
    }
    values[j] = v;
  }
  for (int i = 0; i < 16; ++i) y[index() * 16 + i] = values[values[i] & 15];
}

__device__ __attribute__((noinline)) int twice(int v) { return 2 * v; }
__device__ __attribute__((noinline)) int square(int v) { return v * v; }
__device__ __attribute__((noinline)) int minus(int v) { return twice(v) - 3 * v; }
__device__ __attribute__((noinline)) u32 ackermann(u32 m, u32 n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
KERNEL calls(const int* x, int* y, int n) {
  int (*const functions[])(int) = {twice, square, minus};
  const int v = x[index()];
  y[index()] = functions[(u32)v % 3](v);
  y[n + index()] = (int)ackermann(v & 1, (u32)v % 5);
}

KERNEL choose(const int* x, int* y) {
  const int v = x[index()];
  switch (v & 7) {
    case 0: y[index()] = v * 3; break;
    case 1: y[index()] = v + 100; break;
    case 2: y[index()] = -v;
    case 3: y[index()] = v ^ 0x55; break;
    case 5: y[index()] = v << 2; break;
    default: y[index()] = 7;
  }
}

// --- matrices ----------------------------------------------------------------------------------------------------------

// One wave: a 16 x 16 product of float16 with 64 deep rows.
KERNEL product(const half4* a, const half4* b, float* c) {
  const int lane = thread();
  float4v sum = {0, 0, 0, 0};
  for (int k = 0; k < 64; k += 16) {
    const half4 x = a[((lane % 16) * 64 + k + lane / 16 * 4) / 4], y = b[((lane % 16) * 64 + k + lane / 16 * 4) / 4];
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
  }
  for (int r = 0; r < 4; ++r) c[(lane / 16 * 4 + r) * 16 + lane % 16] = sum[r];
}
