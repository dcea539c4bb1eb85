/* Linux calls that Swift's Glibc module does not show: they need _GNU_SOURCE, headers it leaves out, or are variadic. */
#ifndef CPLATFORM_H
#define CPLATFORM_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#pragma clang assume_nonnull begin

/* eventfd(2): EFD_NONBLOCK | EFD_CLOEXEC. */
int cplatform_eventfd(void);
/* Names below take a directory's descriptor, or AT_FDCWD for a whole path. */
/* renameat2(2) with RENAME_NOREPLACE. */
int cplatform_rename_exclusive(int old_directory, const char *old_name, int new_directory, const char *new_name);
/* renameat(2) */
int cplatform_rename(int old_directory, const char *old_name, int new_directory, const char *new_name);
/* linkat(2); a link at the old name is not followed. */
int cplatform_link(int old_directory, const char *old_name, int new_directory, const char *new_name);
/* unlinkat(2) */
int cplatform_unlink(int directory, const char *name);
/* faccessat(2), W_OK | X_OK */
int cplatform_may_write(int directory, const char *name);
/* fstatat(2), a link itself looked at, or followed. */
int cplatform_lstat(int directory, const char *name, struct stat *status);
int cplatform_stat(int directory, const char *name, struct stat *status);
/* openat2(2), O_PATH | O_DIRECTORY: below the directory whatever links say (EXDEV), or over no link at all (ELOOP). */
int cplatform_open_directory(int directory, const char *path, bool is_beneath);
/* openat(2), O_PATH | O_NOFOLLOW: what has the name, a link itself too. */
int cplatform_open_name(int directory, const char *name);
/* fallocate(2), KEEP_SIZE; posix_fallocate would write bytes where the call is unsupported. */
int cplatform_preallocate(int fd, int64_t length);
/* lseek(2): where the first hole is, or -1. */
int64_t cplatform_first_hole(int fd);
int cplatform_syncfs(int fd);
/* Starts write-out without waiting: sync_file_range(2), SYNC_FILE_RANGE_WRITE. */
int cplatform_start_writeback(int fd);
/* Writes out, waits, and returns the file's own write-back error if one is due; no device flush: sync_file_range(2). */
int cplatform_wait_writeback(int fd);
/* A copy of the descriptor, close-on-exec: fcntl(2), F_DUPFD_CLOEXEC. */
int cplatform_duplicate(int fd);
/* F_OFD_SETLK / F_OFD_SETLKW: a lock owned by the open file description, not by the process. kind: F_RDLCK, F_WRLCK, F_UNLCK. */
int cplatform_lock(int fd, int kind, bool wait);
/* F_OFD_SETLK of some bytes. */
int cplatform_lock_range(int fd, int kind, int64_t start, int64_t length);
/* F_OFD_GETLK: 1 when somebody else holds a lock that would keep out an exclusive one, 0 when free, -1 on error. */
int cplatform_is_locked(int fd);
void cplatform_name_thread(const char *name);
int cplatform_gettid(void);
/* statx(2): the mount id, or -1. */
int64_t cplatform_mount_id(int fd);
/* statx(2): when the file was made, in nanoseconds since 1970, or -1 where the file system does not keep it. */
int64_t cplatform_birth_time(int fd);
/* getrandom(2): 0 on success. */
int cplatform_random(void *bytes, size_t count);
/* pidfd_open(2) */
int cplatform_pidfd_open(pid_t pid);
/* signalfd(2) over the signals in set. */
int cplatform_signalfd(const void *set);
int cplatform_read_signal(int fd);
/* rtnetlink(7): a socket that becomes readable when links, addresses, routes or rules change, or -1. */
int cplatform_network_watch(void);
/* Reads all that waits on a non-blocking socket; whether anything did, what was lost included. */
bool cplatform_drain(int fd);
/* Whether packets would leave for the address, by an interface that is up and has a carrier, or stay on this machine: 1,
   0, or -1 when that cannot be told. Sends nothing. */
int cplatform_has_route(const void *address, size_t count);
/* Nanoseconds that the system has been suspended since its boot: clock_gettime(2), CLOCK_BOOTTIME. */
int64_t cplatform_suspended_time(void);
/* SIGRTMIN and SIGRTMAX, without those that the C library keeps for itself. */
int cplatform_first_realtime_signal(void);
int cplatform_last_realtime_signal(void);
/* openat(2) is variadic. */
int cplatform_open(int directory, const char *name, int flags, mode_t mode);
/* openat(2), O_TMPFILE: a file without a name in that directory, read and write. */
int cplatform_open_unnamed(int directory, const char *name, mode_t mode);
/* Gives an open file a name that nothing has yet: linkat(2) by way of /proc. */
int cplatform_give_name(int fd, int directory, const char *name);
/* statfs(2): the file system's magic number, or -1. */
int64_t cplatform_filesystem_magic(int fd);
/* fstatvfs(3): bytes an unprivileged process may still write, the file system's size (0 where it does not say), and
   whether another file may be made. 0 on success. */
int cplatform_room(int fd, int64_t *available, int64_t *total, bool *has_inodes);
/* statvfs(3): the most bytes that a name in this directory may have, or -1. */
int64_t cplatform_name_limit(const char *path);
/* 1 for a regular file, 2 for a directory, 3 for a symbolic link, 4 for anything else; S_ISREG and friends are macros. */
int cplatform_file_kind(mode_t mode);
/* True for a group that has the user's name and no other members: getgrgid_r(3), getpwuid_r(3). */
bool cplatform_is_private_group(gid_t group);
/* Limits how many heap arenas threads make (mallopt M_ARENA_MAX). */
void cplatform_limit_arenas(int count);
/* The umask of this process, read without changing it for longer than the call. */
mode_t cplatform_umask(void);
/* iconv(3) of all the input; how many bytes of UTF-8 that are, -1 when the charset is unknown, the input is not whole text
   in it, or the room does not do. */
ssize_t cplatform_to_utf8(
    const char *charset, const void *_Nullable input, size_t count, void *_Nullable output, size_t room);

#pragma clang assume_nonnull end
#endif
