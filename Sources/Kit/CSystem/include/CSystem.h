// Thin wrappers of the system calls that the Glibc module of Swift lacks. Each returns its result, or -errno.
#ifndef CSYSTEM_H
#define CSYSTEM_H

// Includes no system header of the Glibc module, because Swift would assign its types to this module.
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct csystem_events;

/// A set of descriptors to watch (epoll_create1 with close-on-exec).
int csystem_epoll_create(void);
/// Adds `fd` edge-triggered for reading, writing and hang-up, tagged with `tag`.
int csystem_epoll_add(int set, int fd, uint64_t tag);
/// Adds `fd` level-triggered for reading only.
int csystem_epoll_add_level(int set, int fd, uint64_t tag);
int csystem_epoll_remove(int set, int fd);
/// Waits; `timeout_ms` -1 waits without limit. EINTR gives 0.
int csystem_epoll_wait(int set, struct csystem_events *events, int timeout_ms);
/// Storage for `capacity` events, to be freed with `csystem_events_destroy`.
struct csystem_events *csystem_events_create(int capacity);
void csystem_events_destroy(struct csystem_events *events);
uint64_t csystem_event_tag(const struct csystem_events *events, int index);
uint32_t csystem_event_bits(const struct csystem_events *events, int index);

/// A descriptor that becomes readable when a process ends (pidfd_open(2)).
int csystem_pidfd(pid_t process);

/// A counter that wakes a watcher (eventfd, non-blocking).
int csystem_eventfd(void);
int csystem_eventfd_signal(int fd);
int csystem_eventfd_clear(int fd);

/// A timer that becomes readable (timerfd, CLOCK_MONOTONIC, absolute nanoseconds; 0 disarms).
int csystem_timerfd(void);
int csystem_timerfd_arm(int fd, uint64_t deadline_ns);
int csystem_timerfd_clear(int fd);

/// A non-blocking, close-on-exec TCP socket of the family.
int csystem_tcp_socket(int family);
int csystem_accept(int fd, void *address, unsigned *length);
int csystem_connect(int fd, const void *address, unsigned length);
intptr_t csystem_recv(int fd, void *buffer, size_t count);
/// Never raises SIGPIPE.
intptr_t csystem_send(int fd, const void *buffer, size_t count);
int csystem_socket_error(int fd);
/// The number of sent bytes that the peer's system has not acknowledged (SIOCOUTQ).
int csystem_tcp_unacknowledged(int fd);
int csystem_set_nodelay(int fd);
int csystem_set_reuse(int fd, int port_too);
int csystem_set_keepalive(int fd);
/// The next close sends a reset (SO_LINGER of 0 s).
int csystem_set_reset_on_close(int fd);

/// CLOCK_MONOTONIC in nanoseconds.
uint64_t csystem_monotonic_ns(void);

/// Raises the soft limit of open descriptors to the hard one, and returns it.
int64_t csystem_raise_descriptor_limit(void);
/// Starts the program `arguments[0]`, looked up in PATH, in `directory` and in a session of its own, with default signal
/// dispositions and an empty mask; `input`, `output` and `errors` become its standard streams. Returns its process id.
int csystem_spawn(
    char *const arguments[], char *const environment[], const char *directory, int input, int output, int errors);

/// A pipe, close-on-exec: the end to read, and the end to write.
int csystem_pipe(int ends[2]);
/// Writes to a pipe. Never raises SIGPIPE.
intptr_t csystem_write(int fd, const void *buffer, size_t count);
/// Removes a directory with all that is in it. Links are removed, and not followed.
void csystem_remove_directory(const char *path);

/// The resident memory of the process in bytes; 0 if the system does not report it.
int64_t csystem_resident_bytes(void);
/// The memory of the machine in bytes.
int64_t csystem_machine_memory(void);
/// Makes the allocator return memory to the system in steps of 8 MiB, and share `arenas` arenas among all threads.
/// Call it before the first thread starts.
void csystem_tune_allocator(int arenas);
/// Returns the allocator's free memory to the system.
void csystem_trim_allocator(void);

/// The environment of the process: strings `NAME=value`, ended by NULL.
char *const *csystem_environment(void);
/// The hard limit of open descriptors.
int64_t csystem_descriptor_limit(void);
/// The soft limit of open descriptors.
int64_t csystem_soft_descriptor_limit(void);
/// The number of open descriptors of the process; -1 if the system does not report it.
int64_t csystem_open_descriptors(void);
/// The CPU time of the process in microseconds, user and system.
int64_t csystem_cpu_us(void);
/// When the process began, in microseconds since 1970; 0 if the system does not report it.
int64_t csystem_start_us(void);

#endif
