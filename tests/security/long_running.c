// A host that keeps a model.so for long, or many of it. Prints what it measured, a number a line; what is wrong is on
// stderr, with exit code 1.
//
//   long_running threads MODEL THREADS RUNS    each thread runs an instance of its own, and one that all share
//   long_running dlopen MODEL ROUNDS           resident KiB after a tenth of the rounds, and at the end
//   long_running fork MODEL                    milliseconds until a child of fork() has run
//   long_running sizes MODEL ROUNDS            peak KiB of runs of random sizes, the largest first
//   long_running manners MODEL COMPILER ONNX OUTPUT    a compile and runs leave the process as it was
//
// The model has one float32 input [N, C, D, H, W], of which C is known, and one float32 output.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <immintrin.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "onnxc.h"
#include "onnxc_compiler.h"

enum { rank = 5, largest_batch = 2, largest_side = 40 };

static void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

typedef struct {
  void* library;
  const onnxc_api* api;
  int64_t channels;
} model;

static model open_model(const char* file) {
  model opened = {.library = dlopen(file, RTLD_NOW | RTLD_LOCAL)};
  if (opened.library == NULL) fail("%s", dlerror());
  onnxc_get_api_function get_api = (onnxc_get_api_function)dlsym(opened.library, "onnxc_get_api");
  opened.api = get_api(ONNXC_ABI_VERSION);
  opened.channels = atoll(opened.api->input(0)->dims[1]);
  return opened;
}

static onnxc_instance* create(const model* m, int threads, uint32_t flags) {
  const onnxc_options options = {.struct_size = sizeof options, .threads = threads, .flags = flags};
  onnxc_instance* instance = NULL;
  char error[ONNXC_ERROR_SIZE] = "";
  if (m->api->create(&options, &instance, error, sizeof error) != ONNXC_OK) fail("create: %s", error);
  return instance;
}

// Values of one run.
typedef struct {
  int64_t dims[rank];
  int64_t elements, output_elements;
  float *x, *y, *expected;
} values;

static int64_t count_of(const int64_t* dims) {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= dims[i];
  return count;
}

static float* allocate(int64_t count) {
  float* memory = malloc((size_t)count * sizeof(float) + 1);
  if (memory == NULL) fail("out of memory");
  memset(memory, 0xff, (size_t)count * sizeof(float));  // NaN
  return memory;
}

static onnxc_status run(const model* m, onnxc_instance* instance, values* v) {
  const onnxc_value x = {.dtype = ONNXC_FLOAT32,
                         .rank = rank,
                         .dims = v->dims,
                         .data = v->x,
                         .bytes = v->elements * (int64_t)sizeof(float)};
  const onnxc_value y = {.dtype = ONNXC_FLOAT32, .data = v->y, .bytes = v->output_elements * (int64_t)sizeof(float)};
  return m->api->run(instance, &x, 1, &y, 1, NULL);
}

static void set_dims(const model* m, onnxc_instance* instance, values* v, const int64_t* dims) {
  memcpy(v->dims, dims, sizeof v->dims);
  v->elements = count_of(dims);
  const int64_t* input_dims[] = {v->dims};
  int64_t found[rank] = {0};
  int64_t* output_dims[] = {found};
  if (m->api->output_dims(instance, input_dims, output_dims) != ONNXC_OK)
    fail("output_dims: %s", m->api->last_error(instance));
  v->output_elements = count_of(found);
}

// Values of these sizes, and the result that an instance gives for them.
static values make_values(const model* m, onnxc_instance* instance, const int64_t* dims, unsigned seed) {
  values v = {.x = NULL};
  set_dims(m, instance, &v, dims);
  v.x = allocate(v.elements);
  v.y = allocate(v.output_elements);
  v.expected = allocate(v.output_elements);
  for (int64_t i = 0; i < v.elements; ++i) v.x[i] = (float)rand_r(&seed) / (float)RAND_MAX - 0.5f;
  if (run(m, instance, &v) != ONNXC_OK) fail("run: %s", m->api->last_error(instance));
  memcpy(v.expected, v.y, (size_t)v.output_elements * sizeof(float));
  return v;
}

static void free_values(values* v) {
  free(v->x);
  free(v->y);
  free(v->expected);
}

static int is_right(const values* v) {
  return memcmp(v->y, v->expected, (size_t)v->output_elements * sizeof(float)) == 0;
}

// Runs, and the result is to the bit what it was before.
static void run_again(const model* m, onnxc_instance* instance, values* v) {
  memset(v->y, 0xff, (size_t)v->output_elements * sizeof(float));
  if (run(m, instance, v) != ONNXC_OK) fail("run: %s", m->api->last_error(instance));
  if (!is_right(v)) fail("another result than before");
}

static long kilobytes(const char* key) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  long found = -1;
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, key, strlen(key)) == 0) found = atol(line + strlen(key) + 1);
  if (status != NULL) fclose(status);
  return found;
}

// ------------------------------------------------------------------------------------------------------- many threads

typedef struct {
  const model* m;
  onnxc_instance* shared;
  int number, runs;
} caller;

static atomic_long busy_calls, served_calls;

// On the shared instance a run is whole and right, or it is refused and has touched nothing.
static void run_shared(const caller* c, values* v) {
  memset(v->y, 0xff, (size_t)v->output_elements * sizeof(float));
  const onnxc_status status = run(c->m, c->shared, v);
  if (status == ONNXC_OK) {
    if (!is_right(v)) fail("thread %d: a wrong result of the shared instance", c->number);
    atomic_fetch_add(&served_calls, 1);
    return;
  }
  if (status != ONNXC_BUSY) fail("thread %d: status %d of the shared instance", c->number, status);
  for (size_t i = 0; i < (size_t)v->output_elements * sizeof(float); ++i)
    if (((const unsigned char*)v->y)[i] != 0xff) fail("thread %d: a busy instance has written", c->number);
  atomic_fetch_add(&busy_calls, 1);
}

static void* call(void* context) {
  const caller* c = context;
  onnxc_instance* own = create(c->m, 1 + c->number % 2, c->number % 4 < 2 ? ONNXC_SHARED_POOL : 0);
  const int64_t dims[rank] = {1 + c->number % 2, c->m->channels, 2 + c->number % 3, 3, 4 + c->number % 5};
  values v = make_values(c->m, own, dims, (unsigned)c->number);
  for (int i = 0; i < c->runs; ++i) {
    if (i % 2 == 0)
      run_again(c->m, own, &v);
    else
      run_shared(c, &v);
  }
  free_values(&v);
  c->m->api->destroy(own);
  return NULL;
}

static void many_threads(const model* m, int count, int runs) {
  onnxc_instance* shared = create(m, 2, 0);
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  caller* callers = calloc((size_t)count, sizeof *callers);
  for (int i = 0; i < count; ++i) {
    callers[i] = (caller){m, shared, i, runs};
    if (pthread_create(&threads[i], NULL, call, &callers[i]) != 0) fail("cannot start a thread");
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  m->api->destroy(shared);
  free(threads);
  free(callers);
  printf("%ld\n%ld\n", (long)served_calls, (long)busy_calls);
}

// ---------------------------------------------------------------------------------------------------- loaded, dropped

static void load_and_drop(const char* file, int rounds) {
  long before = 0;
  for (int round = 0; round < rounds; ++round) {
    const model m = open_model(file);
    onnxc_instance* instance = create(&m, 2, round % 2 == 0 ? ONNXC_SHARED_POOL : 0);
    const int64_t dims[rank] = {1, m.channels, 12, 12, 12};
    values v = make_values(&m, instance, dims, 1);
    run_again(&m, instance, &v);
    free_values(&v);
    m.api->destroy(instance);
    if (dlclose(m.library) != 0) fail("dlclose: %s", dlerror());
    if (dlopen(file, RTLD_NOW | RTLD_NOLOAD) != NULL) fail("it is still loaded");
    if (round == rounds / 10) before = kilobytes("VmRSS");
  }
  printf("%ld\n%ld\n", before, kilobytes("VmRSS"));
}

// ------------------------------------------------------------------------------------------------------------ a child

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void fork_after_a_run(const model* m) {
  const int64_t dims[rank] = {2, m->channels, 20, 20, 20};
  onnxc_instance* instances[] = {create(m, 3, 0), create(m, 3, ONNXC_SHARED_POOL)};
  values v = make_values(m, instances[0], dims, 1);
  run_again(m, instances[1], &v);
  const double start = milliseconds();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (int i = 0; i < 2; ++i) run_again(m, instances[i], &v);
    onnxc_instance* fresh = create(m, 3, ONNXC_SHARED_POOL);
    run_again(m, fresh, &v);
    for (int i = 0; i < 2; ++i) m->api->destroy(instances[i]);
    m->api->destroy(fresh);
    _exit(0);
  }
  int status = -1;
  if (waitpid(child, &status, 0) != child || status != 0) fail("the child ended with status %d", status);
  printf("%.0f\n", milliseconds() - start);
  for (int i = 0; i < 2; ++i) run_again(m, instances[i], &v);
  for (int i = 0; i < 2; ++i) m->api->destroy(instances[i]);
  free_values(&v);
}

// ------------------------------------------------------------------------------------------------------- random sizes

static void random_sizes(const model* m, int rounds) {
  onnxc_instance* instance = create(m, 2, 0);
  const int64_t largest[rank] = {largest_batch, m->channels, largest_side, largest_side, largest_side};
  values v = make_values(m, instance, largest, 1);
  unsigned seed = 7;
  for (int round = 0; round < rounds; ++round) {
    int64_t dims[rank] = {1 + rand_r(&seed) % largest_batch, m->channels};
    for (int i = 2; i < rank; ++i) dims[i] = 1 + rand_r(&seed) % largest_side;
    set_dims(m, instance, &v, dims);
    if (run(m, instance, &v) != ONNXC_OK) fail("run: %s", m->api->last_error(instance));
  }
  printf("%ld\n", kilobytes("VmHWM"));
  m->api->destroy(instance);
}

// ---------------------------------------------------------------------------------------------- the process as it was

typedef struct {
  struct sigaction actions[NSIG];
  sigset_t blocked;
  unsigned mxcsr;
  unsigned short x87;
  char locale[256], folder[4096];
  mode_t mask;
  int files;
  size_t environment;
} process_state;

static int count_files(void) {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

extern char** environ;

static size_t sum_of_environment(void) {
  size_t sum = 0;
  for (char** entry = environ; *entry != NULL; ++entry)
    for (const char* c = *entry; *c != 0; ++c) sum = sum * 31 + (unsigned char)*c;
  return sum;
}

static process_state state_now(void) {
  process_state state;
  memset(&state, 0, sizeof state);
  for (int i = 1; i < NSIG; ++i) sigaction(i, NULL, &state.actions[i]);
  pthread_sigmask(SIG_SETMASK, NULL, &state.blocked);
  state.mxcsr = _mm_getcsr();
  __asm__ volatile("fnstcw %0" : "=m"(state.x87));
  snprintf(state.locale, sizeof state.locale, "%s", setlocale(LC_ALL, NULL));
  if (getcwd(state.folder, sizeof state.folder) == NULL) fail("no folder");
  state.mask = umask(0);
  umask(state.mask);
  state.files = count_files();
  state.environment = sum_of_environment();
  return state;
}

static void check_state(const process_state* before, const char* after_what) {
  const process_state now = state_now();
  for (int i = 1; i < NSIG; ++i)
    if (before->actions[i].sa_handler != now.actions[i].sa_handler ||
        before->actions[i].sa_flags != now.actions[i].sa_flags)
      fail("after %s: signal %d has another handler", after_what, i);
  if (memcmp(&before->blocked, &now.blocked, sizeof now.blocked) != 0) fail("after %s: signals blocked", after_what);
  if (before->mxcsr != now.mxcsr) fail("after %s: MXCSR %x, was %x", after_what, now.mxcsr, before->mxcsr);
  if (before->x87 != now.x87) fail("after %s: x87 control word %x, was %x", after_what, now.x87, before->x87);
  if (strcmp(before->locale, now.locale) != 0) fail("after %s: locale %s", after_what, now.locale);
  if (strcmp(before->folder, now.folder) != 0) fail("after %s: folder %s", after_what, now.folder);
  if (before->mask != now.mask) fail("after %s: umask %o", after_what, now.mask);
  if (before->files != now.files) fail("after %s: %d open files, were %d", after_what, now.files, before->files);
  if (before->environment != now.environment) fail("after %s: another environment", after_what);
}

static void on_signal(int number) { (void)number; }

static void compile(const char* library, const char* onnx, const char* output) {
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == NULL) fail("%s", dlerror());
  onnxc_compile_status (*compile_model)(const onnxc_compile_request*, char*, size_t) =
      (onnxc_compile_status(*)(const onnxc_compile_request*, char*, size_t))dlsym(opened, "onnxc_compile");
  char error[1024] = "";
  const onnxc_compile_request request = {.size = sizeof request, .model = onnx, .output = output};
  if (compile_model(&request, error, sizeof error) != ONNXC_COMPILE_OK) fail("compile: %s", error);
  const onnxc_compile_request wrong = {.size = sizeof request, .model = output, .output = onnx};
  if (compile_model(&wrong, error, sizeof error) != ONNXC_COMPILE_MODEL) fail("a wrong model is compiled");
}

static void keep_manners(const char* file, const char* compiler, const char* onnx, const char* output) {
  if (setlocale(LC_ALL, "C.UTF-8") == NULL) fail("no locale C.UTF-8");
  const struct sigaction own = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  for (const int* number = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, 0}; *number != 0; ++number)
    sigaction(*number, &own, NULL);
  signal(SIGPIPE, SIG_DFL);
  umask(027);
  _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x4000u | 0x8040u);  // upwards, flush to zero, denormals are zero
  const process_state before = state_now();
  compile(compiler, onnx, output);
  check_state(&before, "a compile");
  const model m = open_model(file);
  check_state(&before, "dlopen");
  onnxc_instance* instance = create(&m, 3, 0);
  const int64_t dims[rank] = {2, m.channels, 20, 20, 20};
  values v = make_values(&m, instance, dims, 1);
  _mm_setcsr(before.mxcsr);  // the numbers above were made with it
  run_again(&m, instance, &v);
  check_state(&before, "a run");
  v.dims[1] += 1;
  if (run(&m, instance, &v) == ONNXC_OK) fail("wrong dims are taken");
  check_state(&before, "a call that fails");
  m.api->destroy(instance);
  dlclose(m.library);
  check_state(&before, "dlclose");
  free_values(&v);
}

int main(int argc, char** argv) {
  if (argc < 3) fail("MODE MODEL is expected");
  const char *mode = argv[1], *file = argv[2];
  const int number = argc > 3 ? atoi(argv[3]) : 0;
  if (strcmp(mode, "dlopen") == 0) {
    load_and_drop(file, number);
  } else if (strcmp(mode, "manners") == 0 && argc == 6) {
    keep_manners(file, argv[3], argv[4], argv[5]);
  } else {
    const model m = open_model(file);
    if (strcmp(mode, "threads") == 0 && argc == 5)
      many_threads(&m, number, atoi(argv[4]));
    else if (strcmp(mode, "fork") == 0)
      fork_after_a_run(&m);
    else if (strcmp(mode, "sizes") == 0)
      random_sizes(&m, number);
    else
      fail("unknown mode %s", mode);
    dlclose(m.library);
  }
  return 0;
}
