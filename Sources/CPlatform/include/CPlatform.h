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
/* Below, a name is relative to a directory's descriptor; AT_FDCWD allows a whole path. */
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
/* fstatat(2): lstat does not follow a link, stat does. */
int cplatform_lstat(int directory, const char *name, struct stat *status);
int cplatform_stat(int directory, const char *name, struct stat *status);
/* openat2(2), O_PATH | O_DIRECTORY: links may not lead out of the directory (EXDEV), or are not allowed (ELOOP). */
int cplatform_open_directory(int directory, const char *path, bool is_beneath);
/* openat(2), O_PATH | O_NOFOLLOW: a link is not followed. */
int cplatform_open_name(int directory, const char *name);
/* fallocate(2), KEEP_SIZE; posix_fallocate would write bytes where the call is unsupported. */
int cplatform_preallocate(int fd, int64_t length);
/* lseek(2), SEEK_HOLE: the offset of the first hole, or -1. */
int64_t cplatform_first_hole(int fd);
int cplatform_syncfs(int fd);
/* Starts write-out without waiting: sync_file_range(2), SYNC_FILE_RANGE_WRITE. */
int cplatform_start_writeback(int fd);
/* Writes out, waits, and returns the file's pending write-back error; no device flush: sync_file_range(2). */
int cplatform_wait_writeback(int fd);
/* A copy of the descriptor, close-on-exec: fcntl(2), F_DUPFD_CLOEXEC. */
int cplatform_duplicate(int fd);
/* F_OFD_SETLK / F_OFD_SETLKW: a lock owned by the open file description, not by the process. kind: F_RDLCK, F_WRLCK, F_UNLCK. */
int cplatform_lock(int fd, int kind, bool wait);
/* F_OFD_SETLK for a byte range. */
int cplatform_lock_range(int fd, int kind, int64_t start, int64_t length);
/* F_OFD_GETLK: 1 when another lock prevents an exclusive one, 0 when free, -1 on error. */
int cplatform_is_locked(int fd);
void cplatform_name_thread(const char *name);
int cplatform_gettid(void);
/* statx(2): the mount id, or -1. */
int64_t cplatform_mount_id(int fd);
/* statx(2): when the file was created, in nanoseconds since 1970, or -1 when the file system does not store it. */
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
/* Reads all pending messages of a non-blocking socket; true if there were any, lost ones included. */
bool cplatform_drain(int fd);
/* Whether a route leads to the address through an interface that is up and has a carrier, or the address is this
   machine's: 1, 0, or -1 when unknown. Sends nothing. */
int cplatform_has_route(const void *address, size_t count);
/* Nanoseconds that the system was suspended since boot: clock_gettime(2), CLOCK_BOOTTIME. */
int64_t cplatform_suspended_time(void);
/* SIGRTMIN and SIGRTMAX, without those reserved by the C library. */
int cplatform_first_realtime_signal(void);
int cplatform_last_realtime_signal(void);
/* openat(2) is variadic. */
int cplatform_open(int directory, const char *name, int flags, mode_t mode);
/* openat(2), O_TMPFILE: a file without a name in that directory, read and write. */
int cplatform_open_unnamed(int directory, const char *name, mode_t mode);
/* Gives an open file a name that is not taken: linkat(2) through /proc. */
int cplatform_give_name(int fd, int directory, const char *name);
/* statfs(2): the file system's magic number, or -1. */
int64_t cplatform_filesystem_magic(int fd);
/* fstatvfs(3): the bytes an unprivileged process may still write, the file system's size (0 when it does not report
   it), and whether another file may be created. 0 on success. */
int cplatform_room(int fd, int64_t *available, int64_t *total, bool *has_inodes);
/* statvfs(3): the most bytes of a name in this directory, or -1. */
int64_t cplatform_name_limit(const char *path);
/* 1 for a regular file, 2 for a directory, 3 for a symbolic link, 4 for anything else; S_ISREG and friends are macros. */
int cplatform_file_kind(mode_t mode);
/* True for a group with the user's name and no other members: getgrgid_r(3), getpwuid_r(3). */
bool cplatform_is_private_group(gid_t group);
/* Limits the number of heap arenas (mallopt M_ARENA_MAX). */
void cplatform_limit_arenas(int count);
/* The umask of this process, read without changing it. */
mode_t cplatform_umask(void);
/* iconv(3) of all the input; the number of UTF-8 bytes, or -1 when the charset is unknown, the input is invalid or
   incomplete in it, or the output does not fit. */
ssize_t cplatform_to_utf8(
    const char *charset, const void *_Nullable input, size_t count, void *_Nullable output, size_t room);

#pragma clang assume_nonnull end
#endif
