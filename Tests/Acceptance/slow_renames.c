/* Preloaded: after a rename of a file whose name ends in .towline the caller sleeps SLOW_RENAMES_MS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void delay(const char *name) {
    const char *text = getenv("SLOW_RENAMES_MS"), *suffix = ".towline";
    size_t length = strlen(name);
    if (!text || length < strlen(suffix) || strcmp(name + length - strlen(suffix), suffix)) return;
    long ms = atol(text);
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    int result = real(from, to);
    if (result == 0) delay(from);
    return result;
}

int renameat(int from_directory, const char *from, int to_directory, const char *to) {
    static int (*real)(int, const char *, int, const char *);
    if (!real) real = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
    int result = real(from_directory, from, to_directory, to);
    if (result == 0) delay(from);
    return result;
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    static int (*real)(int, const char *, int, const char *, unsigned);
    if (!real) real = (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
    int result = real(from_directory, from, to_directory, to, flags);
    if (result == 0) delay(from);
    return result;
}
