// upstream: a model server with Ollama's /api/chat. The model's name sets the answer. "t2000r10b32" is 2000 tokens, 10 a second
// (0: as fast as they are read), 32 in each write; "t200r10b1s1000": each token carries the time of its sending, by
// CLOCK_MONOTONIC in microseconds, and 1000 bytes more. It prints the port that it listens on.
// The last line's prompt_eval_count is the number of messages in the request. For "t1r0b1s0k4" it is a token for each 4 bytes of the
// request, less 32 for each message and 64, and prompt_messages is the number of messages.
#define _GNU_SOURCE
#include "tokens.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 1024, MODEL_MAX = 48, LINE_MAX_BYTES = 512, TOKENS_PER_WRITE_MAX = 256, STAMPED_MAX = 3000 };

typedef struct connection {
    int fd;
    bool streaming, last_sent, polled_out;
    char *in, *unsent;
    size_t in_length, in_capacity, unsent_length;
    char model[MODEL_MAX];
    unsigned sent, tokens, per_write, stamped, messages, prompt_tokens;
    uint64_t interval_ns, due_ns;
    struct connection *next, **link;  // in the wheel
} connection;

static int poller;
static connection *wheel[SLOTS];  // by the millisecond
static uint64_t now_ms;
static unsigned timed;

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void unschedule(connection *c) {
    if (!c->link) return;
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    c->link = NULL;
    timed--;
}

static void schedule(connection *c) {
    uint64_t tick = c->due_ns / 1000000;
    if (tick <= now_ms) tick = now_ms + 1;
    if (tick >= now_ms + SLOTS) tick = now_ms + SLOTS - 1;  // checked again then
    connection **slot = &wheel[tick % SLOTS];
    if ((c->next = *slot)) c->next->link = &c->next;
    *(c->link = slot) = c;
    timed++;
}

static void end(connection *c) {
    unschedule(c);
    close(c->fd);
    free(c->in);
    free(c->unsent);
    free(c);
}

static void poll_out(connection *c, bool wanted) {
    if (c->polled_out == wanted) return;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = c};
    c->polled_out = wanted;
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

// Keeps the bytes that the socket does not accept. Returns false if the peer has disconnected.
static bool transmit(connection *c, const char *bytes, size_t length) {
    ssize_t taken = send(c->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno != EAGAIN) return false;
    if (taken < 0) taken = 0;
    c->unsent_length = length - (size_t)taken;
    if (!c->unsent_length) return true;
    char *rest = malloc(c->unsent_length);
    memcpy(rest, bytes + taken, c->unsent_length);
    free(c->unsent);
    c->unsent = rest;
    return true;
}

// --- the answer

static char *put_time(char *p) {
    static char text[32];
    static time_t second;
    uint64_t now = nanoseconds(CLOCK_REALTIME), fraction = now % 1000000000u;
    if ((time_t)(now / 1000000000u) != second) {
        struct tm parts;
        second = (time_t)(now / 1000000000u);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", gmtime_r(&second, &parts));
    }
    p = put(p, text, 20);
    for (int i = 8; i >= 0; i--, fraction /= 10) p[i] = (char)('0' + fraction % 10);
    p[9] = 'Z';
    return p + 10;
}

static char *put_stamp(char *p, unsigned length) {
    p = put_number(put(p, " @", 2), nanoseconds(CLOCK_MONOTONIC) / 1000);
    memset(p, 'x', length);
    *p = ' ';
    return p + length;
}

// One line in a separate chunk; its size is written afterwards, with a leading zero.
static char *put_line(char *p, connection *c, bool last) {
    char *size = p;
    p = put_text(p + 5, "{\"model\":\"");
    p = put_text(p, c->model);
    p = put_text(p, "\",\"created_at\":\"");
    p = put_time(p);
    p = put_text(p, "\",\"message\":{\"role\":\"assistant\",\"content\":\"");
    if (last) {
        p = put_text(p, "\"},\"done_reason\":\"stop\",\"done\":true,\"total_duration\":1000,\"prompt_eval_count\":");
        p = put_number(p, c->prompt_tokens ? c->prompt_tokens : c->messages);
        if (c->prompt_tokens) p = put_number(put_text(p, ",\"prompt_messages\":"), c->messages);
        p = put_text(p, ",\"eval_count\":");
        p = put_number(p, c->sent);
        p = put_text(p, "}\n");
    } else {
        p = c->stamped ? put_stamp(p, c->stamped) : put_token(p, c->sent);
        p = put_text(p, "\"},\"done\":false}\n");
        c->sent++;
    }
    size_t length = (size_t)(p - size - 5);
    for (int i = 2; i >= 0; i--, length >>= 4) size[i] = "0123456789abcdef"[length & 15];
    size[3] = '\r', size[4] = '\n';
    return put(p, "\r\n", 2);
}

static bool start_request(connection *c);

// Sends the next write of the answer, and plans the one after. Returns false if the connection has ended.
static bool send_next(connection *c) {
    static char buffer[TOKENS_PER_WRITE_MAX * LINE_MAX_BYTES + 1024];
    char *p = buffer;
    if (c->unsent_length) {
        if (!transmit(c, c->unsent, c->unsent_length)) return end(c), false;
        if (c->unsent_length) return true;
    } else if (!c->last_sent) {
        if (!c->sent)
            p = put_text(p, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (unsigned i = 0; i < c->per_write && c->sent < c->tokens; i++) p = put_line(p, c, false);
        if (c->sent == c->tokens) {
            p = put_text(put_line(p, c, true), "0\r\n\r\n");
            c->last_sent = true;
        }
        if (!transmit(c, buffer, (size_t)(p - buffer))) return end(c), false;
    }
    if (c->unsent_length) {
        poll_out(c, true);
    } else if (c->last_sent) {
        poll_out(c, false);
        c->streaming = false;
        return start_request(c);
    } else if (c->interval_ns) {
        poll_out(c, false);
        c->due_ns += c->interval_ns;
        schedule(c);
    } else {
        poll_out(c, true);  // the next write, after one for each other connection
    }
    return true;
}

// --- the request

static unsigned count(const char *text, size_t length, const char *word) {
    unsigned n = 0;
    for (const char *p = text, *limit = text + length; (p = memmem(p, (size_t)(limit - p), word, strlen(word))); p++) n++;
    return n;
}

static void start(connection *c, const char *body, size_t length) {
    unsigned rate = 0, bytes_per_token = 0;
    const char *name = memmem(body, length, "\"model\":\"", 9);
    c->model[0] = 0;
    if (name) sscanf(name + 9, "%47[^\"]", c->model);
    c->tokens = c->per_write = 1;
    c->stamped = 0;
    sscanf(c->model, "t%ur%ub%us%uk%u", &c->tokens, &rate, &c->per_write, &c->stamped, &bytes_per_token);
    if (c->stamped > STAMPED_MAX) c->stamped = STAMPED_MAX;
    if (c->per_write < 1 || c->per_write > TOKENS_PER_WRITE_MAX || c->stamped) c->per_write = 1;
    c->messages = count(body, length, "\"role\"");
    size_t frame = 32 * (size_t)c->messages + 64;
    c->prompt_tokens = bytes_per_token ? (unsigned)((length > frame ? length - frame : 0) / bytes_per_token) + 1 : 0;
    c->sent = 0;
    c->last_sent = false;
    c->streaming = true;
    c->interval_ns = rate ? 1000000000u / rate : 0;
    c->due_ns = nanoseconds(CLOCK_MONOTONIC);
}

// Starts a request if one is complete. Returns false if the connection has ended.
static bool start_request(connection *c) {
    if (c->streaming || !c->in_length) return true;
    c->in[c->in_length] = 0;
    char *body = memmem(c->in, c->in_length, "\r\n\r\n", 4);
    if (!body) return true;
    *(body += 3) = 0;
    char *field = strcasestr(c->in, "\ncontent-length:");
    *body++ = '\n';
    size_t length = field ? strtoul(field + 16, NULL, 10) : 0, whole = (size_t)(body - c->in) + length;
    if (c->in_length < whole) return true;
    bool chat = !strncmp(c->in, "POST ", 5);
    if (chat) start(c, body, length);
    memmove(c->in, c->in + whole, c->in_length -= whole);
    if (!c->in_length) free(c->in), c->in = NULL, c->in_capacity = 0;
    if (chat) return send_next(c);
    static const char other[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    return transmit(c, other, sizeof other - 1) ? true : (end(c), false);
}

static void receive(connection *c) {
    for (;;) {
        if (c->in_capacity - c->in_length < 4096) c->in = realloc(c->in, (c->in_capacity = c->in_capacity * 2 + 8192) + 1);
        size_t room = c->in_capacity - c->in_length;
        ssize_t n = recv(c->fd, c->in + c->in_length, room, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return end(c);
        if (n > 0) c->in_length += (size_t)n;
        if (n < (ssize_t)room) break;
    }
    start_request(c);
}

static void accept_all(int listener) {
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        connection *c = calloc(1, sizeof *c);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        setsockopt(c->fd = fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static void turn_wheel(void) {
    for (uint64_t target = nanoseconds(CLOCK_MONOTONIC) / 1000000; now_ms < target;) {
        now_ms++;
        for (connection *c = wheel[now_ms % SLOTS], *next; c; c = next) {
            next = c->next;
            unschedule(c);
            if (c->due_ns / 1000000 > now_ms) schedule(c);
            else send_next(c);
        }
    }
}

int main(void) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) return perror("upstream"), 1;
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN});
    now_ms = nanoseconds(CLOCK_MONOTONIC) / 1000000;
    static struct epoll_event events[512];
    for (;;) {
        int n = epoll_wait(poller, events, 512, timed ? 1 : -1);
        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;
            if (!c) accept_all(listener);
            else if (events[i].events & (EPOLLERR | EPOLLHUP)) end(c);
            else if (events[i].events & EPOLLIN) receive(c);
            else send_next(c);
        }
        turn_wheel();
    }
}
