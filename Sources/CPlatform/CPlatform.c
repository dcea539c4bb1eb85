#define _GNU_SOURCE
#include "CPlatform.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

int cplatform_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
int cplatform_rename_exclusive(int old_directory, const char *old_name, int new_directory, const char *new_name) {
    return renameat2(old_directory, old_name, new_directory, new_name, RENAME_NOREPLACE);
}
/* Whole paths use the plain calls: the campaigns count those and make them fail. */
int cplatform_rename(int old_directory, const char *old_name, int new_directory, const char *new_name) {
    if (old_directory == AT_FDCWD && new_directory == AT_FDCWD) return rename(old_name, new_name);
    return renameat(old_directory, old_name, new_directory, new_name);
}
int cplatform_link(int old_directory, const char *old_name, int new_directory, const char *new_name) {
    if (old_directory == AT_FDCWD && new_directory == AT_FDCWD) return link(old_name, new_name);
    return linkat(old_directory, old_name, new_directory, new_name, 0);
}
int cplatform_unlink(int directory, const char *name) {
    return directory == AT_FDCWD ? unlink(name) : unlinkat(directory, name, 0);
}
int cplatform_may_write(int directory, const char *name) {
    return directory == AT_FDCWD ? access(name, W_OK | X_OK) : faccessat(directory, name, W_OK | X_OK, 0);
}
int cplatform_lstat(int directory, const char *name, struct stat *status) {
    return directory == AT_FDCWD ? lstat(name, status) : fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW);
}
int cplatform_stat(int directory, const char *name, struct stat *status) {
    return directory == AT_FDCWD ? stat(name, status) : fstatat(directory, name, status, 0);
}
int cplatform_open_directory(int directory, const char *path, bool is_beneath) {
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_MAGICLINKS | (is_beneath ? RESOLVE_BENEATH : RESOLVE_NO_SYMLINKS),
    };
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}
int cplatform_open_name(int directory, const char *name) {
    return openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}
int cplatform_preallocate(int fd, int64_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }
int64_t cplatform_first_hole(int fd) { return lseek(fd, 0, SEEK_HOLE); }
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
int cplatform_lock_range(int fd, int kind, int64_t start, int64_t length) {
    struct flock lock = {.l_type = (short)kind, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
    return fcntl(fd, F_OFD_SETLK, &lock);
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
    /* Kernels before 6.8 do not know the unique id and return the other one when both are requested. */
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
int cplatform_first_realtime_signal(void) { return SIGRTMIN; }
int cplatform_last_realtime_signal(void) { return SIGRTMAX; }
int cplatform_open(int directory, const char *name, int flags, mode_t mode) {
    return directory == AT_FDCWD ? open(name, flags, mode) : openat(directory, name, flags, mode);
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
int64_t cplatform_name_limit(const char *path) {
    struct statvfs status;
    return statvfs(path, &status) == 0 ? (int64_t)status.f_namemax : -1;
}
int cplatform_open_unnamed(int directory, const char *name, mode_t mode) {
    return cplatform_open(directory, name, O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
}
int cplatform_give_name(int fd, int directory, const char *name) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, directory, name, AT_SYMLINK_FOLLOW);
}
int cplatform_file_kind(mode_t mode) { return S_ISREG(mode) ? 1 : S_ISDIR(mode) ? 2 : S_ISLNK(mode) ? 3 : 4; }
void cplatform_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }
bool cplatform_is_private_group(gid_t group) {
    char space[4096], more[4096];
    struct group entry, *found = NULL;
    struct passwd owner, *user = NULL;
    if (getgrgid_r(group, &entry, space, sizeof space, &found) != 0 || !found) return false;
    if (getpwuid_r(geteuid(), &owner, more, sizeof more, &user) != 0 || !user) return false;
    if (user->pw_gid != group || strcmp(user->pw_name, found->gr_name) != 0) return false;
    for (char **member = found->gr_mem; *member; member++)
        if (strcmp(*member, user->pw_name) != 0) return false;
    return true;
}
/* umask(2) can only be read by setting it, which would race with threads that create files: read it from /proc. */
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
ssize_t cplatform_to_utf8(const char *charset, const void *input, size_t count, void *output, size_t room) {
    char *from = (char *)(uintptr_t)input, *to = output;
    size_t left = room;
    iconv_t conversion = iconv_open("UTF-8", charset);
    if (conversion == (iconv_t)-1) return -1;
    size_t code = count ? iconv(conversion, &from, &count, &to, &left) : 0;
    /* Flushes the state of a stateful charset. */
    if (code != (size_t)-1) code = iconv(conversion, NULL, NULL, &to, &left);
    iconv_close(conversion);
    return code == (size_t)-1 ? -1 : (ssize_t)(room - left);
}
