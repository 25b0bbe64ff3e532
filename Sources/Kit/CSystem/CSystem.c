#define _GNU_SOURCE
#include "CSystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int result(int r) { return r < 0 ? -errno : r; }

int csystem_epoll_create(void) { return result(epoll_create1(EPOLL_CLOEXEC)); }

static int add(int set, int fd, uint32_t bits, uint64_t tag) {
    struct epoll_event e = {.events = bits, .data.u64 = tag};
    return result(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
}

int csystem_epoll_add(int set, int fd, uint64_t tag) {
    return add(set, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, tag);
}

int csystem_epoll_add_level(int set, int fd, uint64_t tag) { return add(set, fd, EPOLLIN, tag); }

int csystem_epoll_remove(int set, int fd) { return result(epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL)); }

struct csystem_events {
    int capacity;
    struct epoll_event list[];
};

struct csystem_events *csystem_events_create(int capacity) {
    struct csystem_events *events = malloc(sizeof *events + (size_t)capacity * sizeof events->list[0]);
    if (!events) abort();
    events->capacity = capacity;
    return events;
}

void csystem_events_destroy(struct csystem_events *events) { free(events); }

int csystem_epoll_wait(int set, struct csystem_events *events, int timeout_ms) {
    int n = epoll_wait(set, events->list, events->capacity, timeout_ms);
    if (n < 0 && errno == EINTR) return 0;
    return result(n);
}

uint64_t csystem_event_tag(const struct csystem_events *events, int index) { return events->list[index].data.u64; }
uint32_t csystem_event_bits(const struct csystem_events *events, int index) { return events->list[index].events; }

int csystem_eventfd(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }
int csystem_eventfd_signal(int fd) { return result(eventfd_write(fd, 1)); }
int csystem_eventfd_clear(int fd) {
    eventfd_t value;
    return result(eventfd_read(fd, &value));
}

int csystem_timerfd(void) { return result(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)); }

int csystem_timerfd_arm(int fd, uint64_t deadline_ns) {
    struct itimerspec t = {.it_value = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                                        .tv_nsec = (long)(deadline_ns % 1000000000u)}};
    return result(timerfd_settime(fd, TFD_TIMER_ABSTIME, &t, NULL));
}

int csystem_timerfd_clear(int fd) {
    uint64_t value;
    return result((int)read(fd, &value, sizeof value));
}

int csystem_tcp_socket(int family) {
    return result(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

int csystem_accept(int fd, void *address, unsigned *length) {
    return result(accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int csystem_connect(int fd, const void *address, unsigned length) {
    return result(connect(fd, address, length));
}

intptr_t csystem_recv(int fd, void *buffer, size_t count) {
    ssize_t n;
    do n = recv(fd, buffer, count, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

intptr_t csystem_send(int fd, const void *buffer, size_t count) {
    ssize_t n;
    do n = send(fd, buffer, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

int csystem_socket_error(int fd) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0) return errno;
    return error;
}

int csystem_tcp_unacknowledged(int fd) {
    int count;
    return ioctl(fd, SIOCOUTQ, &count) < 0 ? -errno : count;
}

static int set(int fd, int level, int name, int value) {
    return result(setsockopt(fd, level, name, &value, sizeof value));
}

int csystem_set_nodelay(int fd) { return set(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

int csystem_set_reuse(int fd, int port_too) {
    int r = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    return r < 0 || !port_too ? r : set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

int csystem_set_keepalive(int fd) { return set(fd, SOL_SOCKET, SO_KEEPALIVE, 1); }

int csystem_set_reset_on_close(int fd) {
    struct linger l = {.l_onoff = 1, .l_linger = 0};
    return result(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l));
}

uint64_t csystem_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t csystem_raise_descriptor_limit(void) {
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0) return -errno;
    l.rlim_cur = l.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &l) < 0) return -errno;
    return (int64_t)l.rlim_cur;
}

int csystem_spawn(
    char *const arguments[], char *const environment[], const char *directory, int input, int output, int errors) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, errors, 2);
    // Another thread may have opened a descriptor that is not marked close-on-exec yet. The child must not keep it open.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t process;
    int error = posix_spawnp(&process, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error ? -error : process;
}

int csystem_pidfd(pid_t process) { return result((int)syscall(SYS_pidfd_open, process, 0)); }

int csystem_pipe(int ends[2]) { return result(pipe2(ends, O_CLOEXEC)); }

intptr_t csystem_write(int fd, const void *buffer, size_t count) {
    // Blocked for this thread, the signal of a pipe without a reader stays pending, and is taken.
    sigset_t broken, before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t n = write(fd, buffer, count);
    int error = errno;
    if (n < 0 && error == EPIPE) {
        struct timespec none = {0};
        sigtimedwait(&broken, NULL, &none);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n < 0 ? -error : n;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *position) {
    (void)s, (void)kind, (void)position;
    return remove(path);
}

void csystem_remove_directory(const char *path) {
    // Without following links, and without leaving the file system.
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

char *const *csystem_environment(void) { return environ; }

int64_t csystem_descriptor_limit(void) {
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0) return -errno;
    return l.rlim_max > INT64_MAX ? INT64_MAX : (int64_t)l.rlim_max;
}

int64_t csystem_soft_descriptor_limit(void) {
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0) return -errno;
    return l.rlim_cur > INT64_MAX ? INT64_MAX : (int64_t)l.rlim_cur;
}

int64_t csystem_open_descriptors(void) {
    // Since Linux 6.2 the size of the directory is the number of its entries.
    struct stat s;
    if (stat("/proc/self/fd", &s) == 0 && s.st_size > 0) return s.st_size;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) return -1;
    int64_t count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    // One of them was the directory's own.
    return count - 1;
}

int64_t csystem_cpu_us(void) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) < 0) return 0;
    return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

int64_t csystem_start_us(void) {
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[1024];
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = 0;
    // The name of the program ends with the last parenthesis and may contain anything. The start is the 20th field after it (proc(5)).
    char *field = strrchr(text, ')');
    for (int i = 0; field && i < 20; i++) field = strchr(field + 1, ' ');
    if (!field) return 0;
    int64_t ticks = strtoll(field, NULL, 10), rate = sysconf(_SC_CLK_TCK);
    struct timespec now, boot;
    if (rate <= 0 || clock_gettime(CLOCK_REALTIME, &now) < 0 || clock_gettime(CLOCK_BOOTTIME, &boot) < 0) return 0;
    int64_t up = (int64_t)boot.tv_sec * 1000000 + boot.tv_nsec / 1000;
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - up + ticks * 1000000 / rate;
}

int64_t csystem_resident_bytes(void) {
    // The descriptor stays open, because every measurement reads the file. If two threads open it at once, one descriptor leaks.
    static _Atomic int statm = -1;
    if (statm < 0) statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128];
    ssize_t length = statm < 0 ? -1 : pread(statm, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    // The second number is the count of resident pages.
    char *end;
    strtoll(text, &end, 10);
    return strtoll(end, NULL, 10) * sysconf(_SC_PAGESIZE);
}

int64_t csystem_machine_memory(void) { return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

void csystem_tune_allocator(int arenas) {
    // Fixed thresholds turn off glibc's dynamic ones, which grow with freed large blocks. See decision 42.
    const int step = 8 * 1024 * 1024;
    mallopt(M_MMAP_THRESHOLD, step);
    mallopt(M_TRIM_THRESHOLD, step);
    mallopt(M_ARENA_MAX, arenas);
}

void csystem_trim_allocator(void) { malloc_trim(0); }
