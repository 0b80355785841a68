/* Records below SQLite and Python what a process asks of the files under one directory (CRASH-4).
 *
 * Preloaded into the process. Each call that changes a file or a name, or makes one durable, is
 * done and then appended to a tape, in one write, under one lock: the order of the tape is the
 * order in which it happened. The calls go to the kernel directly, so that nothing here depends on
 * which C library is underneath, and nothing here is recorded.
 *
 * Files are told by their inode and names by their path below the directory. SQLite's `-shm` is
 * left out: it is made anew by whoever opens after a power loss.
 *
 * Nothing is recorded until the process asks for it by `crashlab_record`; its forks go on, too.
 */

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if UINTPTR_MAX != UINT64_MAX
#error "offsets are passed in one register: 64-bit platforms only"
#endif

struct head {
    char op;
    char zero[3];
    uint32_t path_bytes;
    uint64_t inode;
    uint64_t at;
    uint64_t data_bytes;
};

static int tape = -1;
static char home[PATH_MAX];
static size_t home_bytes;
static uint64_t kill_at, passed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *why)
{
    dprintf(2, "crashlab recorder: %s\n", why);
    syscall(SYS_exit_group, 70);
}

/* Begin to record.
 *
 * path:  the tape, appended to
 * below: the directory, a real path
 * at:    end by SIGKILL right after so many operations; 0 for never
 */
void crashlab_record(const char *path, const char *below, uint64_t at)
{
    home_bytes = strlen(below);
    if (home_bytes == 0 || home_bytes >= sizeof home)
        give_up("the directory is no path");
    memcpy(home, below, home_bytes + 1);
    kill_at = at;
    tape = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (tape < 0)
        give_up("the tape cannot be opened");
}

/* Return the part of an absolute path below home, "" for home itself, or NULL. */
static const char *below_home(const char *path)
{
    size_t bytes = strlen(path);
    if (tape < 0 || strncmp(path, home, home_bytes) != 0)
        return NULL;
    if (bytes > 4 && strcmp(path + bytes - 4, "-shm") == 0)
        return NULL;
    if (path[home_bytes] == '\0')
        return "";
    return path[home_bytes] == '/' ? path + home_bytes + 1 : NULL;
}

/* Write the real path of a name into `out`: its directory resolved, its last part as it is. */
static const char *named(int dir, const char *path, char out[PATH_MAX])
{
    char whole[2 * PATH_MAX], link[64];
    const char *last;
    ssize_t bytes = 0;
    if (tape < 0 || path == NULL || strlen(path) >= PATH_MAX)
        return NULL;
    if (path[0] != '/') {
        snprintf(link, sizeof link, dir == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", dir);
        bytes = syscall(SYS_readlinkat, AT_FDCWD, link, whole, PATH_MAX - 1);
        if (bytes < 0)
            return NULL;
        whole[bytes++] = '/';
    }
    strcpy(whole + bytes, path);
    for (bytes = (ssize_t)strlen(whole); bytes > 1 && whole[bytes - 1] == '/'; bytes--)
        whole[bytes - 1] = '\0';
    last = strrchr(whole, '/');
    if (last == NULL)
        return NULL;
    whole[last - whole] = '\0';
    if (realpath(whole[0] == '\0' ? "/" : whole, out) == NULL)
        return NULL;
    bytes = (ssize_t)strlen(out);
    if (snprintf(out + bytes, (size_t)(PATH_MAX - bytes), "/%s", last + 1) >= PATH_MAX - bytes)
        return NULL;
    return below_home(out);
}

/* Say whether an open file lies below home, and tell its inode. */
static int tracked(int fd, uint64_t *inode)
{
    struct stat status;
    char link[64], path[PATH_MAX + 16];
    ssize_t bytes;
    int saved = errno, found = 0;
    if (tape >= 0 && fd >= 0 && fd != tape && fstat(fd, &status) == 0
        && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        bytes = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX);
        if (bytes > 0) {
            path[bytes] = '\0';
            if (bytes > 10 && strcmp(path + bytes - 10, " (deleted)") == 0)
                path[bytes - 10] = '\0';
            found = below_home(path) != NULL;
            *inode = status.st_ino;
        }
    }
    errno = saved;
    return found;
}

static uint64_t inode_of(const char *path)
{
    struct stat status;
    return fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

/* Begin an operation: from here to `done` it is the only one. */
static void next(void)
{
    pthread_mutex_lock(&lock);
}

static void note(char op, uint64_t inode, uint64_t at, const char *path, const void *data,
                 size_t bytes)
{
    struct head head = {.op = op, .inode = inode, .at = at, .data_bytes = bytes};
    struct iovec parts[3];
    ssize_t whole;
    int saved = errno;
    head.path_bytes = path == NULL ? 0 : (uint32_t)strlen(path);
    parts[0].iov_base = &head;
    parts[0].iov_len = sizeof head;
    parts[1].iov_base = (void *)path;
    parts[1].iov_len = head.path_bytes;
    parts[2].iov_base = (void *)data;
    parts[2].iov_len = bytes;
    whole = (ssize_t)(sizeof head + head.path_bytes + bytes);
    if (syscall(SYS_writev, tape, parts, 3) != whole)
        give_up("the tape cannot be written");
    if (++passed == kill_at)
        syscall(SYS_kill, getpid(), SIGKILL);
    errno = saved;
}

static void done(void)
{
    pthread_mutex_unlock(&lock);
}

/* Something that changes files in a way that is not recorded: the tape says so, and is worthless. */
static void foreign(const char *what)
{
    next();
    note('!', 0, 0, what, NULL, 0);
    done();
}

/* --- opening --- */

static int opened(int dir, const char *path, int flags, mode_t mode)
{
    char real[PATH_MAX];
    const char *name = NULL;
    struct stat before;
    int fd, was;
    if (flags & (O_CREAT | O_TRUNC))
        name = named(dir, path, real);
    if (name == NULL)
        return (int)syscall(SYS_openat, dir, path, flags, mode);
    if ((flags & O_TMPFILE) == O_TMPFILE)
        foreign("O_TMPFILE");
    was = fstatat(AT_FDCWD, real, &before, AT_SYMLINK_NOFOLLOW) == 0;
    if (was && (!(flags & O_TRUNC) || (flags & O_EXCL)))
        return (int)syscall(SYS_openat, dir, path, flags, mode);
    next();
    fd = (int)syscall(SYS_openat, dir, path, flags, mode);
    if (fd >= 0 && !was)
        note('c', inode_of(real), 0, name, NULL, 0);
    else if (fd >= 0)
        note('t', (uint64_t)before.st_ino, 0, NULL, NULL, 0);
    done();
    return fd;
}

#define MODE(flags, mode)                                                                          \
    do {                                                                                           \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;   \
        va_end(rest);                                                                              \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode;
    MODE(flags, mode);
    return opened(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode;
    MODE(flags, mode);
    return opened(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode;
    MODE(flags, mode);
    return opened(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
    mode_t mode;
    MODE(flags, mode);
    return opened(dir, path, flags, mode);
}

int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __openat_2(int dir, const char *path, int flags) { return opened(dir, path, flags, 0); }
int __openat64_2(int dir, const char *path, int flags) { return opened(dir, path, flags, 0); }

int creat(const char *path, mode_t mode)
{
    return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode) { return creat(path, mode); }

/* --- writing --- */

ssize_t write(int fd, const void *data, size_t bytes)
{
    uint64_t inode;
    ssize_t written;
    if (!tracked(fd, &inode))
        return syscall(SYS_write, fd, data, bytes);
    next();
    written = syscall(SYS_write, fd, data, bytes);
    if (written > 0)
        /* The position behind it, also where O_APPEND chose the place. */
        note('w', inode, (uint64_t)(lseek(fd, 0, SEEK_CUR) - written), NULL, data, (size_t)written);
    done();
    return written;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    uint64_t inode;
    ssize_t written;
    if (!tracked(fd, &inode))
        return syscall(SYS_pwrite64, fd, data, bytes, at);
    next();
    written = syscall(SYS_pwrite64, fd, data, bytes, at);
    if (written > 0)
        note('w', inode, (uint64_t)at, NULL, data, (size_t)written);
    done();
    return written;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at)
{
    return pwrite(fd, data, bytes, at);
}

int ftruncate(int fd, off_t size)
{
    uint64_t inode;
    int status;
    if (!tracked(fd, &inode))
        return (int)syscall(SYS_ftruncate, fd, size);
    next();
    status = (int)syscall(SYS_ftruncate, fd, size);
    if (status == 0)
        note('t', inode, (uint64_t)size, NULL, NULL, 0);
    done();
    return status;
}

int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

/* --- making durable --- */

static int synced(int fd, long call)
{
    uint64_t inode;
    int status;
    if (!tracked(fd, &inode))
        return (int)syscall(call, fd);
    next();
    status = (int)syscall(call, fd);
    if (status == 0)
        note('s', inode, 0, NULL, NULL, 0);
    done();
    return status;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* --- names --- */

int mkdirat(int dir, const char *path, mode_t mode)
{
    char real[PATH_MAX];
    const char *name = named(dir, path, real);
    int status;
    if (name == NULL)
        return (int)syscall(SYS_mkdirat, dir, path, mode);
    next();
    status = (int)syscall(SYS_mkdirat, dir, path, mode);
    if (status == 0)
        note('m', inode_of(real), 0, name, NULL, 0);
    done();
    return status;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int dir, const char *path, int flags)
{
    char real[PATH_MAX];
    const char *name = named(dir, path, real);
    int status;
    if (name == NULL)
        return (int)syscall(SYS_unlinkat, dir, path, flags);
    next();
    status = (int)syscall(SYS_unlinkat, dir, path, flags);
    if (status == 0)
        note('u', 0, 0, name, NULL, 0);
    done();
    return status;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    char real_old[PATH_MAX], real_new[PATH_MAX];
    const char *was = named(from, old, real_old), *is = named(to, new, real_new);
    int status;
    if (was == NULL && is == NULL)
        return (int)syscall(SYS_renameat2, from, old, to, new, flags);
    if (was == NULL || is == NULL || flags != 0)
        foreign("a rename into or out of the directory");
    next();
    status = (int)syscall(SYS_renameat2, from, old, to, new, flags);
    if (status == 0 && was != NULL && is != NULL)
        note('r', 0, 0, was, is, strlen(is));
    done();
    return status;
}

int rename(const char *old, const char *new)
{
    return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int renameat(int from, const char *old, int to, const char *new)
{
    return renameat2(from, old, to, new, 0);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    char real_old[PATH_MAX], real_new[PATH_MAX];
    const char *was = named(from, old, real_old), *is = named(to, new, real_new);
    int status;
    if (is == NULL)
        return (int)syscall(SYS_linkat, from, old, to, new, flags);
    if (was == NULL || flags != 0)
        foreign("a link to something outside of the directory");
    next();
    status = (int)syscall(SYS_linkat, from, old, to, new, flags);
    if (status == 0 && was != NULL)
        note('l', 0, 0, was, is, strlen(is));
    done();
    return status;
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

/* --- what nobody here does, and nobody may begin to do unseen --- */

int symlinkat(const char *target, int dir, const char *path)
{
    char real[PATH_MAX];
    if (named(dir, path, real) != NULL)
        foreign("symlink");
    return (int)syscall(SYS_symlinkat, target, dir, path);
}

int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

int truncate(const char *path, off_t size)
{
    char real[PATH_MAX];
    if (named(AT_FDCWD, path, real) != NULL)
        foreign("truncate");
    return (int)syscall(SYS_truncate, path, size);
}

int truncate64(const char *path, off_t size) { return truncate(path, size); }

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    uint64_t inode;
    if (tracked(fd, &inode))
        foreign("writev");
    return syscall(SYS_writev, fd, parts, count);
}

static int allocated(int fd, int mode, off_t at, off_t bytes)
{
    uint64_t inode;
    if (tracked(fd, &inode))
        foreign("fallocate");
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

int fallocate(int fd, int mode, off_t at, off_t bytes) { return allocated(fd, mode, at, bytes); }
int fallocate64(int fd, int mode, off_t at, off_t bytes) { return allocated(fd, mode, at, bytes); }

int posix_fallocate(int fd, off_t at, off_t bytes)
{
    int saved = errno, failed = allocated(fd, 0, at, bytes) == 0 ? 0 : errno;
    errno = saved;
    return failed;
}

int posix_fallocate64(int fd, off_t at, off_t bytes) { return posix_fallocate(fd, at, bytes); }

ssize_t sendfile(int to, int from, off_t *at, size_t bytes)
{
    uint64_t inode;
    if (tracked(to, &inode))
        foreign("sendfile");
    return syscall(SYS_sendfile, to, from, at, bytes);
}

ssize_t sendfile64(int to, int from, off_t *at, size_t bytes)
{
    return sendfile(to, from, at, bytes);
}

ssize_t copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t bytes, unsigned flags)
{
    uint64_t inode;
    if (tracked(to, &inode))
        foreign("copy_file_range");
    return syscall(SYS_copy_file_range, from, at, to, to_at, bytes, flags);
}

static void *mapped(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    uint64_t inode;
    if ((flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) && tracked(fd, &inode))
        foreign("mmap");
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, from);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    return mapped(at, bytes, protection, flags, fd, from);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
    return mapped(at, bytes, protection, flags, fd, from);
}
