/* Linux calls that Swift's Glibc module does not show: they need _GNU_SOURCE, headers it leaves out, or are variadic. */
#ifndef CPLATFORM_H
#define CPLATFORM_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#pragma clang assume_nonnull begin

/* eventfd(2): EFD_NONBLOCK | EFD_CLOEXEC. */
int cplatform_eventfd(void);
/* renameat2(2) with RENAME_NOREPLACE. */
int cplatform_rename_exclusive(const char *old_path, const char *new_path);
/* fallocate(2), KEEP_SIZE; posix_fallocate would write bytes where the call is unsupported. */
int cplatform_preallocate(int fd, int64_t length);
int cplatform_syncfs(int fd);
/* Starts write-out without waiting: sync_file_range(2), SYNC_FILE_RANGE_WRITE. */
int cplatform_start_writeback(int fd);
/* Writes out, waits, and returns the file's own write-back error if one is due; no device flush: sync_file_range(2). */
int cplatform_wait_writeback(int fd);
/* A copy of the descriptor, close-on-exec: fcntl(2), F_DUPFD_CLOEXEC. */
int cplatform_duplicate(int fd);
/* F_OFD_SETLK / F_OFD_SETLKW: a lock owned by the open file description, not by the process. kind: F_RDLCK, F_WRLCK, F_UNLCK. */
int cplatform_lock(int fd, int kind, bool wait);
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
/* open(2) and openat(2) are variadic. */
int cplatform_open(const char *path, int flags, mode_t mode);
int cplatform_openat(int directory, const char *path, int flags, mode_t mode);
/* open(2), O_TMPFILE: a file without a name in that directory, read and write. */
int cplatform_open_unnamed(const char *directory, mode_t mode);
/* Gives an open file a name that nothing has yet: linkat(2) by way of /proc. */
int cplatform_give_name(int fd, const char *path);
/* statfs(2): the file system's magic number, or -1. */
int64_t cplatform_filesystem_magic(int fd);
/* fstatvfs(3): bytes an unprivileged process may still write, the file system's size (0 where it does not say), and
   whether another file may be made. 0 on success. */
int cplatform_room(int fd, int64_t *available, int64_t *total, bool *has_inodes);
/* 1 for a regular file, 2 for a directory, 3 for anything else; S_ISREG and friends are macros. */
int cplatform_file_kind(mode_t mode);
/* Limits how many heap arenas threads make (mallopt M_ARENA_MAX). */
void cplatform_limit_arenas(int count);
/* The umask of this process, read without changing it for longer than the call. */
mode_t cplatform_umask(void);

#pragma clang assume_nonnull end
#endif
