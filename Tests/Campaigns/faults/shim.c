/*
 * A library to preload: makes chosen system calls on two folders fail, and logs all calls there.
 *
 * The mapped file FAULTS_CONTROL says which calls fail; it can be changed while the process runs. Calls are counted over
 * all threads. A failing call does nothing, with three exceptions, as in the kernel: a close closes, a short write writes
 * its first half, and a failed flush loses everything written to that file since the last successful one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LENGTH = 524288, PATH_LENGTH = 256, FD_LIMIT = 4096, LOST_BYTE = 0xDB };
/* Must equal those in shim.py. */
enum side { NO_SIDE, DATA, STATE };
enum call { OPEN, WRITE, READ, FDATASYNC, FSYNC, SYNCFS, TRUNCATE, ALLOCATE, RENAME, UNLINK, MKDIR, CHMOD, STAT, CLOSE, LOCK, MAP, LINK, CALL_COUNT };
enum mode { FAIL, SHORTEN, DELAY, KILL };

struct entry {
    uint8_t side, call, failed;
    uint8_t injected;
    int32_t error;
    uint64_t inode;
    int64_t offset, length;
};

struct control {
    /* Set last; 0: no call fails. */
    _Atomic uint32_t armed;
    uint32_t side, calls, mode, nth, last, error, delay_ms;
    _Atomic uint32_t hits, fired;
    _Atomic uint64_t counts[3][CALL_COUNT];
    char prefix[3][PATH_LENGTH];
    _Atomic uint32_t logged;
    struct entry log[LOG_LENGTH];
};

static struct control *control;
static _Atomic uint8_t sides[FD_LIMIT];

__attribute__((constructor)) static void begin(void) {
    if (control != NULL) return;
    const char *path = getenv("FAULTS_CONTROL");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) abort();
    void *mapped = (void *)syscall(SYS_mmap, NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) abort();
    syscall(SYS_close, fd);
    control = mapped;
}

#define NEXT(name)                                                       \
    static __typeof__(&name) next;                                       \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);        \
    begin()

static enum side side_of_path(const char *path) {
    if (path == NULL) return NO_SIDE;
    for (int side = DATA; side <= STATE; side++) {
        size_t length = strlen(control->prefix[side]);
        if (length && !strncmp(path, control->prefix[side], length) && (path[length] == '/' || path[length] == 0))
            return side;
    }
    return NO_SIDE;
}

static enum side side_of(int fd) { return fd >= 0 && fd < FD_LIMIT ? atomic_load(&sides[fd]) : NO_SIDE; }
static void set_side(int fd, enum side side) {
    if (fd >= 0 && fd < FD_LIMIT) atomic_store(&sides[fd], side);
}

static uint64_t inode_of(int fd, const char *path) {
    struct statx status;
    long code = path ? syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &status)
                     : syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &status);
    return code == 0 ? status.stx_ino : 0;
}

static void note(enum side side, enum call call, bool injected, int error, uint64_t inode, int64_t offset, int64_t length) {
    uint32_t index = atomic_fetch_add(&control->logged, 1);
    if (index >= LOG_LENGTH) return;
    control->log[index] = (struct entry){
        .side = side, .call = call, .failed = error != 0, .injected = injected, .error = error, .inode = inode, .offset = offset, .length = length};
}

static void pause_for(uint32_t milliseconds) {
    /* In steps, so that `repair` ends the delay. */
    for (uint32_t done = 0; done < milliseconds && atomic_load(&control->armed); done += 5)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Counts a call; true if the caller must make it fail or shorten it. Delays and kills happen here. */
static bool strikes(enum side side, enum call call) {
    if (side == NO_SIDE) return false;
    atomic_fetch_add(&control->counts[side][call], 1);
    if (!atomic_load(&control->armed) || control->side != side || !(control->calls >> call & 1)) return false;
    uint32_t hit = atomic_fetch_add(&control->hits, 1) + 1;
    if (hit < control->nth || hit > control->last) return false;
    atomic_fetch_add(&control->fired, 1);
    if (control->mode == KILL) kill(getpid(), SIGKILL);
    if (control->mode == DELAY) pause_for(control->delay_ms);
    return control->mode == FAIL || control->mode == SHORTEN;
}

/* As a kernel may do when it cannot write pages: it drops them, and the next flush succeeds. */
static void lose_unflushed(int fd, enum side side, uint64_t inode) {
    uint32_t end = atomic_load(&control->logged);
    if (end > LOG_LENGTH) end = LOG_LENGTH;
    uint32_t first = 0;
    for (uint32_t index = 0; index < end; index++) {
        struct entry *entry = &control->log[index];
        bool is_flush = entry->call == FDATASYNC || entry->call == FSYNC;
        if (entry->side == side && !entry->failed && entry->inode == inode && is_flush) first = index + 1;
        if (entry->side == side && !entry->failed && entry->call == SYNCFS) first = index + 1;
    }
    uint8_t lost[4096];
    memset(lost, LOST_BYTE, sizeof lost);
    for (uint32_t index = first; index < end; index++) {
        struct entry *entry = &control->log[index];
        if (entry->side != side || entry->failed || entry->inode != inode || entry->call != WRITE) continue;
        for (int64_t done = 0; done < entry->length;) {
            size_t count = (size_t)(entry->length - done) < sizeof lost ? (size_t)(entry->length - done) : sizeof lost;
            if (syscall(SYS_pwrite64, fd, lost, count, entry->offset + done) <= 0) break;
            done += (int64_t)count;
        }
    }
}

/* Runs a call on a descriptor or a path, unless it must fail, and logs it. */
#define FAULTY(where, which, fd, path, offset, length, action)                              \
    enum side side_ = (where);                                                             \
    uint64_t inode_ = side_ == DATA ? inode_of(fd, path) : 0;                             \
    if (strikes(side_, which)) {                                                           \
        note(side_, which, true, (int)control->error, inode_, offset, length);             \
        errno = (int)control->error;                                                      \
        return -1;                                                                        \
    }                                                                                     \
    __typeof__(action) result_ = action;                                                  \
    int error_ = result_ < 0 ? errno : 0;                                                 \
    if (side_ != NO_SIDE) {                                                               \
        note(side_, which, false, error_, inode_, offset, length);                         \
        errno = error_;                                                                   \
    }                                                                                     \
    return result_

static int opened(int fd, const char *path) {
    int error = errno;
    enum side side = side_of_path(path);
    set_side(fd, fd < 0 ? NO_SIDE : side);
    if (side != NO_SIDE) note(side, OPEN, false, fd < 0 ? error : 0, fd < 0 ? 0 : inode_of(fd, NULL), 0, 0);
    errno = error;
    return fd;
}

static bool refused(const char *path) {
    enum side side = side_of_path(path);
    if (!strikes(side, OPEN)) return false;
    note(side, OPEN, true, (int)control->error, 0, 0, 0);
    errno = (int)control->error;
    return true;
}

static mode_t mode_of(int flags, va_list list) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; }

#define OPENER(name)                                 \
    int name(const char *path, int flags, ...) {     \
        NEXT(name);                                  \
        va_list list;                                \
        va_start(list, flags);                       \
        mode_t mode = mode_of(flags, list);          \
        va_end(list);                                \
        if (refused(path)) return -1;                \
        return opened(next(path, flags, mode), path); \
    }
OPENER(open)
OPENER(open64)

int openat(int directory, const char *path, int flags, ...) {
    NEXT(openat);
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    if (path[0] != '/') return next(directory, path, flags, mode);
    if (refused(path)) return -1;
    return opened(next(directory, path, flags, mode), path);
}

int close(int fd) {
    NEXT(close);
    enum side side = side_of(fd);
    set_side(fd, NO_SIDE);
    bool strikes_now = strikes(side, CLOSE);
    if (side != NO_SIDE) note(side, CLOSE, strikes_now, strikes_now ? (int)control->error : 0, 0, 0, 0);
    int code = next(fd);
    if (strikes_now) {
        errno = (int)control->error;
        return -1;
    }
    return code;
}

static int copied(int fd, int command, int copy) {
    if (command == F_DUPFD_CLOEXEC || command == F_DUPFD) set_side(copy, copy < 0 ? NO_SIDE : side_of(fd));
    return copy;
}

/* Releasing a lock never fails. */
static bool takes_lock(int command, const struct flock *lock) {
    if (command == F_OFD_GETLK || command == F_GETLK) return true;
    bool sets = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
    return sets && lock->l_type != F_UNLCK;
}

#define CONTROLLER(name)                                                              \
    int name(int fd, int command, ...) {                                              \
        NEXT(name);                                                                   \
        va_list list;                                                                 \
        va_start(list, command);                                                      \
        void *argument = va_arg(list, void *);                                        \
        va_end(list);                                                                 \
        if (takes_lock(command, argument) && strikes(side_of(fd), LOCK)) {                         \
            note(side_of(fd), LOCK, true, (int)control->error, 0, 0, 0);              \
            errno = (int)control->error;                                              \
            return -1;                                                                \
        }                                                                             \
        return copied(fd, command, next(fd, command, argument));                      \
    }
CONTROLLER(fcntl)
CONTROLLER(fcntl64)

static ssize_t write_half(int fd, enum side side, const void *bytes, size_t count, off_t offset) {
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, count / 2, offset);
    note(side, WRITE, true, 0, inode_of(fd, NULL), offset, done);
    return done;
}

#define WRITER(name, offset_type)                                                         \
    ssize_t name(int fd, const void *bytes, size_t count, offset_type offset) {           \
        NEXT(name);                                                                       \
        enum side side = side_of(fd);                                                     \
        uint64_t inode = side == NO_SIDE ? 0 : inode_of(fd, NULL);                        \
        if (strikes(side, WRITE)) {                                                       \
            /* A full disk takes a part first; later writes fail if the fault is permanent. */ \
            if (control->mode == SHORTEN && count > 1 && atomic_load(&control->fired) == 1) \
                return write_half(fd, side, bytes, count, offset);                        \
            note(side, WRITE, true, (int)control->error, inode, offset, (int64_t)count);  \
            errno = (int)control->error;                                                  \
            return -1;                                                                    \
        }                                                                                 \
        ssize_t done = next(fd, bytes, count, offset);                                    \
        int error = done < 0 ? errno : 0;                                                 \
        if (side != NO_SIDE) note(side, WRITE, false, error, inode, offset, done);        \
        errno = error;                                                                    \
        return done;                                                                      \
    }
WRITER(pwrite, off_t)
WRITER(pwrite64, off64_t)

#define READER(name, offset_type)                                                \
    ssize_t name(int fd, void *bytes, size_t count, offset_type offset) {        \
        NEXT(name);                                                              \
        FAULTY(side_of(fd), READ, fd, NULL, offset, (int64_t)count, next(fd, bytes, count, offset)); \
    }
READER(pread, off_t)
READER(pread64, off64_t)

#define FLUSHER(name, which)                                                     \
    int name(int fd) {                                                           \
        NEXT(name);                                                              \
        enum side side = side_of(fd);                                            \
        uint64_t inode = side == NO_SIDE ? 0 : inode_of(fd, NULL);               \
        if (strikes(side, which)) {                                              \
            if (which != SYNCFS) lose_unflushed(fd, side, inode);                 \
            note(side, which, true, (int)control->error, inode, 0, 0);           \
            errno = (int)control->error;                                         \
            return -1;                                                           \
        }                                                                        \
        /* Not next(fd): a real flush is slow, and its effect is not tested here. */ \
        if (side != NO_SIDE) {                                                   \
            note(side, which, false, 0, inode, 0, 0);                            \
            return 0;                                                            \
        }                                                                        \
        return next(fd);                                                         \
    }
FLUSHER(fdatasync, FDATASYNC)
FLUSHER(fsync, FSYNC)
FLUSHER(syncfs, SYNCFS)

#define TRUNCATER(name, offset_type)                                             \
    int name(int fd, offset_type length) {                                       \
        NEXT(name);                                                              \
        FAULTY(side_of(fd), TRUNCATE, fd, NULL, 0, length, next(fd, length));    \
    }
TRUNCATER(ftruncate, off_t)
TRUNCATER(ftruncate64, off64_t)

int fallocate(int fd, int mode, off_t offset, off_t length) {
    NEXT(fallocate);
    FAULTY(side_of(fd), ALLOCATE, fd, NULL, offset, length, next(fd, mode, offset, length));
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    FAULTY(side_of_path(from), RENAME, -1, from, 0, 0, next(from, to));
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    NEXT(renameat2);
    FAULTY(side_of_path(from), RENAME, -1, from, 0, 0, next(from_directory, from, to_directory, to, flags));
}

int link(const char *from, const char *to) {
    NEXT(link);
    FAULTY(side_of_path(from), RENAME, -1, from, 0, 0, next(from, to));
}

/* Names a file that was created without a name. */
int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags) {
    NEXT(linkat);
    FAULTY(side_of_path(to), LINK, -1, from, 0, 0, next(from_directory, from, to_directory, to, flags));
}

int unlink(const char *path) {
    NEXT(unlink);
    FAULTY(side_of_path(path), UNLINK, -1, path, 0, 0, next(path));
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    FAULTY(side_of_path(path), MKDIR, -1, path, 0, 0, next(path, mode));
}

int fchmod(int fd, mode_t mode) {
    NEXT(fchmod);
    FAULTY(side_of(fd), CHMOD, fd, NULL, 0, 0, next(fd, mode));
}

#define STATTER(name, subject, where, type)                        \
    int name(subject, struct type *status) {                      \
        NEXT(name);                                               \
        if (strikes(where, STAT)) {                                \
            note(where, STAT, true, (int)control->error, 0, 0, 0); \
            errno = (int)control->error;                          \
            return -1;                                            \
        }                                                         \
        return next(file, status);                                \
    }
STATTER(fstat, int file, side_of(file), stat)
STATTER(fstat64, int file, side_of(file), stat64)
STATTER(stat, const char *file, side_of_path(file), stat)
STATTER(stat64, const char *file, side_of_path(file), stat64)
STATTER(lstat, const char *file, side_of_path(file), stat)
STATTER(lstat64, const char *file, side_of_path(file), stat64)

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    NEXT(mmap64);
    if (strikes(side_of(fd), MAP)) {
        note(side_of(fd), MAP, true, (int)control->error, 0, 0, 0);
        errno = (int)control->error;
        return MAP_FAILED;
    }
    return next(address, length, protection, flags, fd, offset);
}
