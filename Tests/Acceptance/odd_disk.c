/* odd_disk FOLDER MOUNTPOINT: a file system that passes everything on to FOLDER, except as the list of words in ODD_DISK
 * says: "no-truncate" refuses to set a length, even the current one; "names=N" limits names to N bytes. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *folder;
static int refuses_truncate;
static size_t name_limit = NAME_MAX;

struct place {
    char text[PATH_MAX];
};

/* Finds the path in FOLDER; returns 0 or an error. */
static int below(const char *path, struct place *place) {
    for (const char *name = path; *name; name += strcspn(name, "/")) {
        name += strspn(name, "/");
        if (strcspn(name, "/") > name_limit) return -ENAMETOOLONG;
    }
    int length = snprintf(place->text, sizeof place->text, "%s%s", folder, path);
    return length < (int)sizeof place->text ? 0 : -ENAMETOOLONG;
}

#define BELOW(path)                      \
    struct place place;                  \
    int error = below(path, &place);     \
    if (error != 0) return error
#define ANSWER(call) return (call) == -1 ? -errno : 0

static int odd_getattr(const char *path, struct stat *status, struct fuse_file_info *info) {
    (void)info;
    BELOW(path);
    ANSWER(lstat(place.text, status));
}

static int odd_open(const char *path, struct fuse_file_info *info) {
    BELOW(path);
    int file = open(place.text, info->flags & ~(O_CREAT | O_EXCL));
    if (file < 0) return -errno;
    info->fh = (uint64_t)file;
    return 0;
}

static int odd_create(const char *path, mode_t mode, struct fuse_file_info *info) {
    BELOW(path);
    int file = open(place.text, info->flags | O_CREAT, mode);
    if (file < 0) return -errno;
    info->fh = (uint64_t)file;
    return 0;
}

static int odd_read(const char *path, char *bytes, size_t count, off_t offset, struct fuse_file_info *info) {
    (void)path;
    ssize_t got = pread((int)info->fh, bytes, count, offset);
    return got < 0 ? -errno : (int)got;
}

static int odd_write(const char *path, const char *bytes, size_t count, off_t offset, struct fuse_file_info *info) {
    (void)path;
    ssize_t put = pwrite((int)info->fh, bytes, count, offset);
    return put < 0 ? -errno : (int)put;
}

static int odd_truncate(const char *path, off_t length, struct fuse_file_info *info) {
    (void)info;
    if (refuses_truncate) return -EPERM;
    BELOW(path);
    ANSWER(truncate(place.text, length));
}

static int odd_release(const char *path, struct fuse_file_info *info) {
    (void)path;
    ANSWER(close((int)info->fh));
}

static int odd_fsync(const char *path, int data_only, struct fuse_file_info *info) {
    (void)path, (void)data_only;
    ANSWER(fsync((int)info->fh));
}

static int odd_unlink(const char *path) {
    BELOW(path);
    ANSWER(unlink(place.text));
}

static int odd_rename(const char *path, const char *other, unsigned flags) {
    BELOW(path);
    struct place there;
    if ((error = below(other, &there)) != 0) return error;
    ANSWER(renameat2(AT_FDCWD, place.text, AT_FDCWD, there.text, flags));
}

static int odd_readdir(
    const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
    enum fuse_readdir_flags flags) {
    (void)offset, (void)info, (void)flags;
    BELOW(path);
    DIR *directory = opendir(place.text);
    if (!directory) return -errno;
    for (struct dirent *entry; (entry = readdir(directory));) fill(buffer, entry->d_name, NULL, 0, 0);
    closedir(directory);
    return 0;
}

static int odd_statfs(const char *path, struct statvfs *status) {
    (void)path;
    if (statvfs(folder, status) != 0) return -errno;
    status->f_namemax = name_limit;
    return 0;
}

static const struct fuse_operations operations = {
    .getattr = odd_getattr,
    .open = odd_open,
    .create = odd_create,
    .read = odd_read,
    .write = odd_write,
    .truncate = odd_truncate,
    .release = odd_release,
    .fsync = odd_fsync,
    .unlink = odd_unlink,
    .rename = odd_rename,
    .readdir = odd_readdir,
    .statfs = odd_statfs,
};

int main(int count, char **arguments) {
    if (count != 3) return 64;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    folder = arguments[1];
    const char *words = getenv("ODD_DISK");
    const char *names = words ? strstr(words, "names=") : NULL;
    refuses_truncate = words && strstr(words, "no-truncate");
    if (names) name_limit = strtoul(names + strlen("names="), NULL, 10);
    char *fuse_arguments[] = {arguments[0], "-f", "-o", "default_permissions", arguments[2]};
    return fuse_main(5, fuse_arguments, &operations, NULL);
}
