#define _GNU_SOURCE
#include "CPlatform.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int cplatform_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
int cplatform_rename_exclusive(const char *old_path, const char *new_path) {
    return renameat2(AT_FDCWD, old_path, AT_FDCWD, new_path, RENAME_NOREPLACE);
}
int cplatform_preallocate(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }
int cplatform_syncfs(int fd) { return syncfs(fd); }
int cplatform_start_writeback(int fd) { return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }
int cplatform_wait_writeback(int fd) {
    return sync_file_range(
        fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}
int cplatform_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }
int cplatform_lock(int fd, int kind, bool wait) {
    struct flock lock = {.l_type = (short)kind, .l_whence = SEEK_SET};
    return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
}
int cplatform_is_locked(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return -1;
    return lock.l_type != F_UNLCK;
}
void cplatform_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
int cplatform_gettid(void) { return (int)syscall(SYS_gettid); }
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif
int64_t cplatform_mount_id(int fd) {
    struct statx status;
    /* Kernels before 6.8 do not know the unique one, and give the other when both are asked for. */
    unsigned int mask = STATX_MNT_ID | STATX_MNT_ID_UNIQUE;
    if (statx(fd, "", AT_EMPTY_PATH, mask, &status) != 0) return -1;
    return (status.stx_mask & mask) ? (int64_t)status.stx_mnt_id : -1;
}
int64_t cplatform_birth_time(int fd) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return -1;
    return (int64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
}
int cplatform_random(void *bytes, size_t count) {
    return getrandom(bytes, count, 0) == (ssize_t)count ? 0 : -1;
}
int cplatform_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
int cplatform_signalfd(const void *set) { return signalfd(-1, (const sigset_t *)set, SFD_CLOEXEC | SFD_NONBLOCK); }
int cplatform_read_signal(int fd) {
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : -1;
}
int cplatform_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
int cplatform_openat(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags, mode);
}
int64_t cplatform_filesystem_magic(int fd) {
    struct statfs status;
    return fstatfs(fd, &status) == 0 ? (int64_t)status.f_type : -1;
}
int cplatform_room(int fd, int64_t *available, int64_t *total, bool *has_inodes) {
    struct statvfs status;
    if (fstatvfs(fd, &status) != 0) return -1;
    *available = (int64_t)status.f_bavail * (int64_t)status.f_frsize;
    *total = (int64_t)status.f_blocks * (int64_t)status.f_frsize;
    *has_inodes = status.f_files == 0 || status.f_favail > 0;
    return 0;
}
int cplatform_open_unnamed(const char *directory, mode_t mode) {
    return open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
}
int cplatform_give_name(int fd, const char *path) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}
int cplatform_file_kind(mode_t mode) { return S_ISREG(mode) ? 1 : S_ISDIR(mode) ? 2 : 3; }
void cplatform_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }
/* umask(2) can only be read by setting it, which would race with threads that create files: ask the kernel instead. */
mode_t cplatform_umask(void) {
    char line[128];
    unsigned mask = 022;
    FILE *file = fopen("/proc/self/status", "re");
    if (!file) return mask;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Umask: %o", &mask) == 1) break;
    fclose(file);
    return mask;
}
