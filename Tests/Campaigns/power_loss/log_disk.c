/* log_disk LOG MOUNTPOINT IMAGE...: files disk0, disk1, … backed by the images; every write and flush is appended
 * to LOG in order. With a file system on a loop device over such a file, the log shows what a power loss may lose: the
 * writes that were not flushed. */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DISK_LIMIT = 4, KIND_WRITE = 1, KIND_FLUSH = 2 };

/* The head of an entry, before the bytes of a write. Little endian, 32 bytes; recording.py reads it. */
struct entry {
    uint32_t kind;
    uint32_t disk;
    uint64_t offset_bytes;
    uint64_t length_bytes;
    uint64_t monotonic_ns;
};

static struct {
    int image;
    off_t size_bytes;
} disks[DISK_LIMIT];
static int disk_count;
static int log_file;

static int disk_of(const char *path) {
    if (strncmp(path, "/disk", 5) != 0 || path[5] < '0' || path[5] >= '0' + disk_count || path[6] != 0) return -1;
    return path[5] - '0';
}

static int append(uint32_t kind, int disk, const char *bytes, size_t length, off_t offset) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    struct entry entry = {kind, (uint32_t)disk, (uint64_t)offset, length, ns};
    struct iovec parts[] = {{&entry, sizeof entry}, {(void *)bytes, length}};
    ssize_t written = writev(log_file, parts, length > 0 ? 2 : 1);
    return written == (ssize_t)(sizeof entry + length) ? 0 : -EIO;
}

static int disk_getattr(const char *path, struct stat *status, struct fuse_file_info *info) {
    (void)info;
    memset(status, 0, sizeof *status);
    if (strcmp(path, "/") == 0) {
        status->st_mode = S_IFDIR | 0755;
        status->st_nlink = 2;
        return 0;
    }
    int disk = disk_of(path);
    if (disk < 0) return -ENOENT;
    status->st_mode = S_IFREG | 0600;
    status->st_nlink = 1;
    status->st_size = disks[disk].size_bytes;
    status->st_blksize = 4096;
    return 0;
}

static int disk_open(const char *path, struct fuse_file_info *info) {
    (void)info;
    return disk_of(path) < 0 ? -ENOENT : 0;
}

static int disk_read(const char *path, char *bytes, size_t length, off_t offset, struct fuse_file_info *info) {
    (void)info;
    ssize_t got = pread(disks[disk_of(path)].image, bytes, length, offset);
    return got < 0 ? -errno : (int)got;
}

static int disk_write(const char *path, const char *bytes, size_t length, off_t offset, struct fuse_file_info *info) {
    (void)info;
    int disk = disk_of(path);
    ssize_t done = pwrite(disks[disk].image, bytes, length, offset);
    if (done < 0) return -errno;
    int failure = append(KIND_WRITE, disk, bytes, (size_t)done, offset);
    return failure != 0 ? failure : (int)done;
}

static int disk_fsync(const char *path, int data_only, struct fuse_file_info *info) {
    (void)data_only;
    (void)info;
    return append(KIND_FLUSH, disk_of(path), NULL, 0, 0);
}

/* No holes, so that discarding and zeroing are writes or do not happen. */
static int disk_fallocate(const char *path, int mode, off_t offset, off_t length, struct fuse_file_info *info) {
    (void)path;
    (void)mode;
    (void)offset;
    (void)length;
    (void)info;
    return -EOPNOTSUPP;
}

static const struct fuse_operations operations = {
    .getattr = disk_getattr,
    .open = disk_open,
    .read = disk_read,
    .write = disk_write,
    .fsync = disk_fsync,
    .fallocate = disk_fallocate,
};

int main(int count, char **arguments) {
    if (count < 4 || count - 3 > DISK_LIMIT) {
        fprintf(stderr, "usage: log_disk LOG MOUNTPOINT IMAGE...\n");
        return 64;
    }
    /* The kernel kills it when the test that started it exits. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    log_file = open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0) return perror(arguments[1]), 74;
    disk_count = count - 3;
    for (int disk = 0; disk < disk_count; disk++) {
        const char *name = arguments[3 + disk];
        struct stat status;
        disks[disk].image = open(name, O_RDWR | O_CLOEXEC);
        if (disks[disk].image < 0 || fstat(disks[disk].image, &status) != 0) return perror(name), 74;
        disks[disk].size_bytes = status.st_size;
    }
    /* One thread, so that the log has the order of the operations. */
    char *fuse_arguments[] = {arguments[0], "-s", "-f", arguments[2], NULL};
    return fuse_main(4, fuse_arguments, &operations, NULL);
}
