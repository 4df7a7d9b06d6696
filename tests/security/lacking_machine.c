// A machine that lacks something for good: preloaded, each call of the kind that ONNXC_LACKS names fails. "threads": no
// thread can be made, as at a limit of processes; "proc": /proc is not mounted.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int lacks(const char* what) {
  const char* lack = getenv("ONNXC_LACKS");
  return lack != NULL && strcmp(lack, what) == 0;
}

static int is_missing(const char* path) {
  if (!lacks("proc") || strncmp(path, "/proc", 5) != 0) return 0;
  errno = ENOENT;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  return lacks("threads") ? EAGAIN : NEXT(pthread_create)(thread, attributes, work, argument);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return is_missing(path) ? -1 : NEXT(open)(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return is_missing(path) ? -1 : NEXT(open64)(path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) { return is_missing(path) ? NULL : NEXT(fopen)(path, mode); }

FILE* fopen64(const char* path, const char* mode) { return is_missing(path) ? NULL : NEXT(fopen64)(path, mode); }

ssize_t readlink(const char* path, char* buffer, size_t size) {
  return is_missing(path) ? -1 : NEXT(readlink)(path, buffer, size);
}
