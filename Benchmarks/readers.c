// readers: many clients that read one reply (GET, HTTP/1.0), some of which pause for seconds at a time. Each
// token of `upstream` model "...s<bytes>" carries the time of its sending, so that a reader can compute its delay.
//   -p port  -u path  -c readers  -s slow readers among them  -r seconds in which they join, at random times  -d seconds of a pause
//   -t seconds after which running readers have failed
//   -m seconds, -e seconds: {"at":"up"} is printed when all have joined, "middle" and "end" then, each with the tokens received
//      so far; delays count between "up" and "end". Results: JSON; the text that all have received as a checksum, FNV-1a.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 24 << 10, BUCKETS = 640 };

typedef struct {
    int fd;
    bool slow, ended;
    double joins, wakes, sleeps;  // seconds; a slow reader reads between wakes and sleeps
    uint64_t text, tokens;
    unsigned reread;  // lines joined from several, as for readers that got behind
    size_t length;
    char *line;
} reader;

static int port, count = 1, poller;
static const char *path = "/";
static int slow;
static double ramp = 1, gap = 5, timeout = 60, middle = 2, until = 3;
static reader *all;
static int over, failed;
static uint64_t tokens_got, delays[2][BUCKETS], delay_count[2];
static bool counting;
static uint64_t start_us, received_us;
static const char *first_error = "";

static uint64_t microseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

static double now(void) { return (double)(microseconds() - start_us) / 1e6; }

// --- delays, in buckets of 1/16 of a power of two of a microsecond

static void note_delay(bool of_slow, uint64_t us) {
    unsigned power = us < 16 ? 0 : 59 - (unsigned)__builtin_clzl(us);
    unsigned bucket = us < 16 ? (unsigned)us : power * 16 + (unsigned)(us >> power);
    delays[of_slow][bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    delay_count[of_slow]++;
}

static uint64_t delay_us(bool of_slow, double quantile) {
    uint64_t rank = (uint64_t)(quantile * (double)delay_count[of_slow]);
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (delays[of_slow][i] > rank) return i < 32 ? i : (uint64_t)(i % 16 + 16) << (i / 16 - 1);
        rank -= delays[of_slow][i];
    }
    return 0;
}

// --- the answer

static void finish(reader *r, const char *error) {
    if (error) failed++;
    if (error && !*first_error) first_error = error;
    close(r->fd);
    free(r->line);
    r->fd = -1, r->line = NULL;
    over++;
}

static void parse_line(reader *r, const char *line, size_t length) {
    if (length < 6 || memcmp(line, "data: ", 6)) return;
    static const char key[] = "\"content\":\"";
    const char *content = memmem(line, length, key, sizeof key - 1), *limit = line + length;
    if (!content) return;

    unsigned tokens = 0;
    bool is_new = false;
    for (content += sizeof key - 1; content < limit && *content != '"'; content++) {
        r->text = (r->text ^ (unsigned char)*content) * 0x100000001b3u;
        if (*content != '@') continue;
        uint64_t sent = strtoul(content + 1, NULL, 10);
        // Lines sent before all had joined are replayed to late readers, so their delays do not count.
        is_new = sent > start_us + (uint64_t)(ramp * 1e6);
        if (counting && is_new) note_delay(r->slow, received_us - sent);
        tokens++;
    }
    r->tokens += tokens, tokens_got += tokens;
    if (tokens > 1 && is_new) r->reread++;
    if (memmem(line, length, "\"done\":true", 11)) r->ended = true;
}

static void consume(reader *r, const char *p, size_t length) {
    while (length) {
        const char *newline = memchr(p, '\n', length);
        size_t part = newline ? (size_t)(newline - p) : length;
        if (r->length + part > LINE_MAX_BYTES) return finish(r, "line too long");
        memcpy(r->line + r->length, p, part);
        r->length += part;
        if (newline) parse_line(r, r->line, r->length), r->length = 0, part++;
        p += part, length -= part;
    }
}

static void receive(reader *r) {
    static char buffer[1 << 16];
    ssize_t n = recv(r->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return finish(r, n < 0 ? "reset" : r->ended ? NULL : "closed before the end");
    received_us = microseconds();
    consume(r, buffer, (size_t)n);
}

// --- joining and leaving

static void listen_to(reader *r, bool wanted) {
    struct epoll_event event = {.events = wanted ? EPOLLIN : 0, .data.ptr = r};
    epoll_ctl(poller, EPOLL_CTL_MOD, r->fd, &event);
}

static void join(reader *r) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[512];
    int n = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n", path);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    r->line = malloc(LINE_MAX_BYTES);
    if (r->slow) {  // on loopback the sender's buffer grows with the segments that the receiver allows
        setsockopt(r->fd, IPPROTO_TCP, TCP_MAXSEG, &(int){536}, sizeof(int));
        setsockopt(r->fd, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
    }
    if (connect(r->fd, (struct sockaddr *)&address, sizeof address) || send(r->fd, request, (size_t)n, MSG_NOSIGNAL) != n)
        return finish(r, "not connected");
    epoll_ctl(poller, EPOLL_CTL_ADD, r->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = r});
}

static void move(double time) {
    for (reader *r = all; r < all + count; r++) {
        if (!r->line && r->fd < 0 && r->joins >= 0 && r->joins <= time) r->joins = -1, join(r);
        if (r->fd < 0 || !r->slow) continue;
        if (time >= r->sleeps) listen_to(r, false), r->wakes = time + gap, r->sleeps = 1e9;
        if (time >= r->wakes) listen_to(r, true), r->sleeps = time + 1, r->wakes = 1e9;
    }
}

static void report(const char *name) { printf("{\"at\":\"%s\",\"tokens\":%lu}\n", name, tokens_got), fflush(stdout); }

int main(int argc, char **argv) {
    for (int option; (option = getopt(argc, argv, "p:u:c:s:r:d:t:m:e:")) != -1;) switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'u': path = optarg; break;
        case 'c': count = atoi(optarg); break;
        case 's': slow = atoi(optarg); break;
        case 'r': ramp = atof(optarg); break;
        case 'd': gap = atof(optarg); break;
        case 't': timeout = atof(optarg); break;
        case 'm': middle = atof(optarg); break;
        case 'e': until = atof(optarg); break;
        default: return 2;
        }
    if (port <= 0 || count < 1 || slow > count) return fputs("readers: -p, -c or -s?\n", stderr), 2;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    srandom(3);
    all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) {
        double chance = (double)random() / RAND_MAX;
        all[i] = (reader){.fd = -1, .slow = i < slow, .joins = chance * ramp, .wakes = 1e9, .text = 0xcbf29ce484222325u};
        all[i].sleeps = ramp * 0.5 + gap * (double)random() / RAND_MAX;
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    start_us = microseconds();
    for (int stage = 0; over < count; ) {
        double time = now();
        if (time > timeout) break;
        move(time);
        if (stage == 0 && time > ramp + 0.3) report("up"), counting = true, stage++;
        if (stage == 1 && time > middle) report("middle"), stage++;
        if (stage == 2 && time > until) report("end"), counting = false, stage++;
        static struct epoll_event events[512];
        int n = epoll_wait(poller, events, 512, time < ramp ? 1 : 20);
        for (int i = 0; i < n; i++) {
            reader *r = events[i].data.ptr;
            if (r->fd >= 0) receive(r);
        }
    }
    unsigned other = 0, reread = 0;
    for (int i = 0; i < count; i++) {
        other += all[i].text != all[count - 1].text || !all[i].ended;
        reread += all[i].reread > 0;
    }
    printf("{\"seconds\":%.3f,\"tokens\":%lu,\"delay_p50_us\":%lu,\"delay_p99_us\":%lu,\"slow_p50_us\":%lu,\"delays\":%lu,"
           "\"unlike\":%u,\"behind\":%u,\"text\":\"%016lx\",\"errors\":%d,\"first_error\":\"%s\"}\n",
        now(), all[count - 1].tokens, delay_us(false, 0.5), delay_us(false, 0.99), delay_us(true, 0.5), delay_count[0],
        other, reread, all[count - 1].text, failed + count - over, over < count && !*first_error ? "not finished in time" : first_error);
    return 0;
}
