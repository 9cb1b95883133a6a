// What a process asks of the disk, as a journal: loaded before libc (LD_PRELOAD), it writes every change below the folder
// RECORD_ROOT to the file RECORD_JOURNAL, each with its bytes and in the order the kernel did them, and for every sync the
// place in the journal where it began: what stands before that place is what the sync has made last.
//
// A record is a head and what it counts (power/journal.ts reads it). It is one write(2) to a file opened for appending, so
// several processes share a journal. What changes the tree without passing here (a shared mapping, a copy inside the
// kernel) is recorded as such or refused, so that the caller takes the way that can be seen.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
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

struct head {
  uint32_t total;
  uint8_t kind;
  uint8_t unused[3];
  uint64_t ino;
  uint64_t at;
  uint32_t path, other, data, unused2;
};

enum { fds = 65536 };
static struct { uint8_t known, durable, append; uint64_t ino; } table[fds];

static int journal = -1;
static char root[PATH_MAX];
static size_t root_length;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *why) {
  dprintf(2, "recorder: %s\n", why);
  abort();
}

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("RECORD_JOURNAL");
  const char *folder = getenv("RECORD_ROOT");
  if (file == NULL || folder == NULL) return;
  root_length = strlen(folder);
  if (root_length >= sizeof root) die("the root is too long");
  memcpy(root, folder, root_length + 1);
  journal = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (journal < 0) die("the journal cannot be opened");
}

/** The path as the journal has it, relative to the root; NULL for what lies elsewhere. */
static const char *below(const char *path, char *into) {
  if (journal < 0 || path == NULL) return NULL;
  if (path[0] != '/') {
    if (getcwd(into, PATH_MAX) == NULL || strlen(into) + strlen(path) + 2 > PATH_MAX) return NULL;
    strcat(strcat(into, "/"), path);
    path = into;
  }
  if (strncmp(path, root, root_length) != 0 || (path[root_length] != '/' && path[root_length] != 0)) return NULL;
  return path[root_length] == 0 ? "" : path + root_length + 1;
}

static void put(uint8_t kind, uint64_t ino, uint64_t at, const char *path, const char *other, const struct iovec *bytes,
                int pieces, size_t count) {
  struct head head = {.kind = kind, .ino = ino, .at = at, .data = (uint32_t)count};
  struct iovec parts[3 + 1024];
  int used = 3;
  head.path = path == NULL ? 0 : (uint32_t)strlen(path);
  head.other = other == NULL ? 0 : (uint32_t)strlen(other);
  head.total = (uint32_t)sizeof head + head.path + head.other + head.data;
  parts[0] = (struct iovec){&head, sizeof head};
  parts[1] = (struct iovec){(void *)(path == NULL ? "" : path), head.path};
  parts[2] = (struct iovec){(void *)(other == NULL ? "" : other), head.other};
  for (int i = 0; i < pieces && count > 0; i++) {
    size_t take = bytes[i].iov_len < count ? bytes[i].iov_len : count;
    if (used == 3 + 1024) die("too many pieces");
    parts[used++] = (struct iovec){bytes[i].iov_base, take};
    count -= take;
  }
  if (syscall(SYS_writev, journal, parts, used) != (long)head.total) die("the journal cannot be written");
}

static uint64_t length_of_journal(void) {
  struct stat found;
  if (fstat(journal, &found) != 0) die("the journal is gone");
  return (uint64_t)found.st_size;
}

static int known(int fd) {
  if (journal < 0 || fd < 0 || fd >= fds || !table[fd].known) return 0;
  struct stat found;
  // A number that was closed by another way is another file now.
  if (fstat(fd, &found) == 0 && found.st_ino == table[fd].ino) return 1;
  table[fd].known = 0;
  return 0;
}

static int opened(int dir, const char *path, int flags, mode_t mode) {
  char place[PATH_MAX];
  const char *name = dir == AT_FDCWD || (path != NULL && path[0] == '/') ? below(path, place) : NULL;
  if (name == NULL) {
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
    if (fd >= 0 && fd < fds) table[fd].known = 0;
    return fd;
  }
  pthread_mutex_lock(&order);
  struct stat found;
  int existed = stat(path, &found) == 0;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  int error = errno;
  if (fd >= 0) {
    if (fd >= fds || fstat(fd, &found) != 0) die("a file cannot be followed");
    if (!existed) put('c', found.st_ino, 0, name, NULL, NULL, 0, 0);
    else if ((flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY) put('t', found.st_ino, 0, NULL, NULL, NULL, 0, 0);
    table[fd].ino = found.st_ino;
    table[fd].durable = (flags & O_DSYNC) != 0;
    table[fd].append = (flags & O_APPEND) != 0;
    table[fd].known = 1;
  }
  pthread_mutex_unlock(&order);
  errno = error;
  return fd;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return opened(AT_FDCWD, path, flags, mode); \
  }
#define OPENAT(name) \
  int name(int dir, const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return opened(dir, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode) {
  return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode) {
  return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < fds) table[fd].known = 0;
  return (int)syscall(SYS_close, fd);
}

/** `offset` -1: where the file stands. */
static ssize_t written(int fd, const struct iovec *bytes, int pieces, off_t offset, int plain) {
  pthread_mutex_lock(&order);
  struct stat found;
  off_t at = offset;
  if (fstat(fd, &found) != 0) die("a file cannot be followed");
  if (table[fd].append) at = found.st_size;
  else if (plain) at = lseek(fd, 0, SEEK_CUR);
  long count = plain ? syscall(SYS_writev, fd, bytes, pieces) : syscall(SYS_pwritev, fd, bytes, pieces, offset, 0);
  int error = errno;
  if (count > 0) put(table[fd].durable ? 'W' : 'w', found.st_ino, (uint64_t)at, NULL, NULL, bytes, pieces, (size_t)count);
  pthread_mutex_unlock(&order);
  errno = error;
  return count;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  struct iovec one = {(void *)bytes, count};
  return known(fd) ? written(fd, &one, 1, -1, 1) : syscall(SYS_write, fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *bytes, int pieces) {
  return known(fd) ? written(fd, bytes, pieces, -1, 1) : syscall(SYS_writev, fd, bytes, pieces);
}

#define PWRITE(name) \
  ssize_t name(int fd, const void *bytes, size_t count, off_t offset) { \
    struct iovec one = {(void *)bytes, count}; \
    return known(fd) ? written(fd, &one, 1, offset, 0) : syscall(SYS_pwrite64, fd, bytes, count, offset); \
  }
#define PWRITEV(name) \
  ssize_t name(int fd, const struct iovec *bytes, int pieces, off_t offset) { \
    return known(fd) ? written(fd, bytes, pieces, offset, 0) : syscall(SYS_pwritev, fd, bytes, pieces, offset, 0); \
  }
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITEV(pwritev)
PWRITEV(pwritev64)

static int cut(int fd, off_t length) {
  if (!known(fd)) return (int)syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&order);
  int result = (int)syscall(SYS_ftruncate, fd, length);
  int error = errno;
  if (result == 0) put('t', table[fd].ino, (uint64_t)length, NULL, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&order);
  errno = error;
  return result;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off_t length) { return cut(fd, length); }

static int cut_at(const char *path, off_t length) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  int result = cut(fd, length);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}

int truncate(const char *path, off_t length) { return cut_at(path, length); }
int truncate64(const char *path, off_t length) { return cut_at(path, length); }

/** Room that is set aside is not in the journal: whoever asks for it writes zeros instead. */
#define FALLOCATE(name, type) \
  int name type { \
    if (!known(fd)) return (int)syscall(SYS_fallocate, fd, mode, offset, length); \
    errno = EOPNOTSUPP; \
    return -1; \
  }
FALLOCATE(fallocate, (int fd, int mode, off_t offset, off_t length))
FALLOCATE(fallocate64, (int fd, int mode, off_t offset, off_t length))

static int synced(int fd, long call) {
  if (!known(fd)) return (int)syscall(call, fd);
  pthread_mutex_lock(&order);
  uint64_t began = length_of_journal();
  pthread_mutex_unlock(&order);
  int result = (int)syscall(call, fd);
  int error = errno;
  if (result == 0) put('s', table[fd].ino, began, NULL, NULL, NULL, 0, 0);
  errno = error;
  return result;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/** A change of names: recorded when it came about. */
static long change(uint8_t kind, const char *path, const char *other, mode_t mode) {
  switch (kind) {
    case 'd': return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    case 'u': return syscall(SYS_unlinkat, AT_FDCWD, path, mode);
    case 'r': return syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, 0);
    default: return syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, other, 0);
  }
}

static int named(uint8_t kind, const char *path, const char *other, mode_t mode) {
  char place[PATH_MAX], place2[PATH_MAX];
  const char *name = below(path, place), *name2 = below(other, place2);
  if (name == NULL && name2 == NULL) return (int)change(kind, path, other, mode);
  if (other != NULL && (name == NULL) != (name2 == NULL)) {
    errno = EXDEV;
    return -1;
  }
  pthread_mutex_lock(&order);
  int result = (int)change(kind, path, other, mode);
  int error = errno;
  if (result == 0) {
    struct stat found = {0};
    if (kind == 'd' && stat(path, &found) != 0) die("a folder cannot be followed");
    put(kind, found.st_ino, 0, name, name2, NULL, 0, 0);
  }
  pthread_mutex_unlock(&order);
  errno = error;
  return result;
}

int mkdir(const char *path, mode_t mode) { return named('d', path, NULL, mode); }
int unlink(const char *path) { return named('u', path, NULL, 0); }
int rmdir(const char *path) { return named('u', path, NULL, AT_REMOVEDIR); }
int rename(const char *from, const char *to) { return named('r', from, to, 0); }
int link(const char *from, const char *to) { return named('l', from, to, 0); }

int remove(const char *path) {
  int result = unlink(path);
  return result != 0 && (errno == EISDIR || errno == EPERM) ? rmdir(path) : result;
}

#define MMAP(name) \
  void *name(void *address, size_t length, int protection, int flags, int fd, off_t offset) { \
    if ((flags & MAP_SHARED) && (protection & PROT_WRITE) && known(fd)) { \
      pthread_mutex_lock(&order); \
      put('m', table[fd].ino, 0, NULL, NULL, NULL, 0, 0); \
      pthread_mutex_unlock(&order); \
    } \
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset); \
  }
MMAP(mmap)
MMAP(mmap64)

#define SENDFILE(name) \
  ssize_t name(int out, int in, off_t *offset, size_t count) { \
    if (!known(out)) return syscall(SYS_sendfile, out, in, offset, count); \
    errno = EINVAL; \
    return -1; \
  }
SENDFILE(sendfile)
SENDFILE(sendfile64)

/** Copies inside the kernel are refused, and so is the ring that takes orders without a call for each. */
long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_list rest;
  long word[6];
  va_start(rest, number);
  for (int i = 0; i < 6; i++) word[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_io_uring_setup || (number == SYS_copy_file_range && known((int)word[2]))) {
    errno = ENOSYS;
    return -1;
  }
  return real(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
