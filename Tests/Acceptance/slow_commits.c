/* Preloaded: flushes of files whose path contains SLOW_COMMITS_PATH take a random time of up to SLOW_COMMITS_MS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t state;

static uint64_t lot(void) {
    uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void delay(int file) {
    const char *part = getenv("SLOW_COMMITS_PATH"), *most = getenv("SLOW_COMMITS_MS"), *seed = getenv("SLOW_COMMITS_SEED");
    char link[64], path[4096];
    if (!part || !most) return;
    if (seed && atomic_load(&state) == 0) atomic_store(&state, strtoull(seed, NULL, 10) + 1);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (!strstr(path, part)) return;
    uint64_t ms = lot() % (strtoull(most, NULL, 10) + 1);
    struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    delay(file);
    return real(file);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    delay(file);
    return real(file);
}

int syncfs(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
    delay(file);
    return real(file);
}
