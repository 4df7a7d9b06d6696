// A machine that fails once: preloaded, it lets one call of a function of libc fail. From the environment:
// ONNXC_FAIL_FUNCTION=malloc, read, write, open, rename, mmap, spawn or pipe; ONNXC_FAIL_AT=the number of the call,
// from 1; ONNXC_FAIL_WITH=errno, or -1 for half of the bytes (read, write); ONNXC_FAIL_AFTER=the end of a file's name:
// only calls after it was opened count. ONNXC_FAIL_COUNT=a file that gets the number of calls when the process ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);

static atomic_long calls;
static atomic_int started;
static const char* function;
static long fail_at;
static int fail_with;
static const char* after;

__attribute__((constructor)) static void begin(void) {
  function = getenv("ONNXC_FAIL_FUNCTION");
  fail_at = getenv("ONNXC_FAIL_AT") ? atol(getenv("ONNXC_FAIL_AT")) : 0;
  fail_with = getenv("ONNXC_FAIL_WITH") ? atoi(getenv("ONNXC_FAIL_WITH")) : EIO;
  after = getenv("ONNXC_FAIL_AFTER");
  atomic_store(&started, after == NULL);
  unsetenv("LD_PRELOAD");  // of this process alone, not of the programs that it starts
}

__attribute__((destructor)) static void end(void) {
  const char* file = getenv("ONNXC_FAIL_COUNT");
  if (file == NULL) return;
  atomic_store(&started, 0);
  FILE* out = fopen(file, "w");
  if (out == NULL) return;
  fprintf(out, "%ld", atomic_load(&calls));
  fclose(out);
}

static int fails(const char* name) {
  if (function == NULL || !atomic_load(&started) || strcmp(function, name) != 0) return 0;
  return atomic_fetch_add(&calls, 1) + 1 == fail_at;
}

static void note(const char* path) {
  if (after == NULL || path == NULL) return;
  size_t length = strlen(path), wanted = strlen(after);
  if (length >= wanted && strcmp(path + length - wanted, after) == 0) atomic_store(&started, 1);
}

void* malloc(size_t size) {
  if (fails("malloc")) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  if (fails("malloc")) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_calloc(count, size);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int open_at(int folder, const char* path, int flags, mode_t mode) {
  int result = NEXT(openat)(folder, path, flags, mode);
  note(path);
  return result;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails("open")) {
    errno = fail_with;
    return -1;
  }
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails("open")) {
    errno = fail_with;
    return -1;
  }
  return open_at(folder, path, flags, mode);
}

ssize_t read(int file, void* to, size_t size) {
  if (fails("read")) {
    if (fail_with < 0) return NEXT(read)(file, to, (size + 1) / 2);
    errno = fail_with;
    return -1;
  }
  return NEXT(read)(file, to, size);
}

ssize_t write(int file, const void* from, size_t size) {
  if (fails("write")) {
    if (fail_with < 0) return NEXT(write)(file, from, (size + 1) / 2);
    errno = fail_with;
    return -1;
  }
  return NEXT(write)(file, from, size);
}

int rename(const char* from, const char* to) {
  if (fails("rename")) {
    errno = fail_with;
    return -1;
  }
  return NEXT(rename)(from, to);
}

void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (fails("mmap")) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return NEXT(mmap)(at, size, protection, flags, file, offset);
}

int pipe2(int ends[2], int flags) {
  if (fails("pipe")) {
    errno = fail_with;
    return -1;
  }
  return NEXT(pipe2)(ends, flags);
}

int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  if (fails("spawn")) return fail_with;
  return NEXT(posix_spawnp)(process, file, actions, attributes, arguments, environment);
}
