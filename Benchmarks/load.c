// load: chats with 127.0.0.1:PORT over many connections at once, and compares every byte of the answers with what
// `upstream` sends: each token once, in its order, unchanged, then the end. Results: JSON.
//   -p port  -u path, whose API it speaks: see `dialects`  -m model of `upstream`  -a prefix of the appIDs
//   -c connections  -n requests in all  -d seconds after which no request is started  -r seconds in which to connect
//   -k number of appIDs: request number n has the appID n modulo k, so with one connection each pass over them finds two messages more
//   -e messages that the model must get, in the first pass; 0 for any number  -t seconds after which running requests have failed
//   -o appID: all requests have this one, and the texts of -a and -k are names of conversations
//   -i seconds after which there is a line {"now":tokens,"delay_p99_us":…}, with the delay of the tokens since the last one
//   -H field: a further one of each request; %u in it is the number of the request
//   -w  a line {"up":tokens} when all connections stream, {"down":tokens} when the first answer is complete
#define _GNU_SOURCE
#include "tokens.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 640 };
enum framing { HEAD, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER };

// What the clients of a path send, and the form of a token's line: `lead`, the token, `tail`.
typedef struct {
    const char *path, *body, *lead, *tail, *end;
    bool whole;  // Nothing follows the tail in a line, and each line is a token's or the end.
    size_t line_limit;  // Events of /v1/responses have the whole answer.
} dialect;

#define OLLAMA_LEAD "\"message\":{\"role\":\"assistant\",\"content\":\""
#define MESSAGES "\"messages\":[{\"role\":\"user\",\"content\":\"What comes next?\"}]"

static const dialect dialects[] = {
    {"/llmchat", "{%s\"model\":\"%s\"," MESSAGES ",\"stream\":true}", OLLAMA_LEAD, "\"},\"done\":false}", NULL, true, 4096},
    {"/api/chat", "{%s\"model\":\"%s\"," MESSAGES ",\"stream\":true}", OLLAMA_LEAD, "\"},\"done\":false}", NULL, true, 4096},
    {"/v1/chat/completions", "{%s\"model\":\"%s\"," MESSAGES ",\"stream\":true}", "\"delta\":{\"content\":\"",
     "\"},\"finish_reason\":null}]}", "data: [DONE]", false, 4096},
    {"/v1/responses", "{%s\"model\":\"%s\",\"input\":\"What comes next?\",\"stream\":true}", "\"delta\":\"", "\",\"sequence_number\":",
     "data: [DONE]", false, 1 << 17},
    {"/v1/messages", "{%s\"model\":\"%s\"," MESSAGES ",\"max_tokens\":100000,\"stream\":true}",
     "\"delta\":{\"type\":\"text_delta\",\"text\":\"", "\"}}", "data: {\"type\":\"message_stop\"}", false, 4096},
};

typedef struct {
    int fd;
    enum framing framing;
    bool busy, complete;
    unsigned number, seen;
    uint64_t left;
    size_t length;
    char *line;  // the head, or the rest of a cut line
} connection;

static int port = 0, connections = 1, poller;
static const dialect *spoken = dialects;
static const char *model = "t20r0b1", *prefix = "load-", *owner = NULL, *further = "";
static unsigned requests = 1, appids, tokens_expected, messages_expected = 1, least_messages = UINT32_MAX, most_messages;
static double seconds = 1e9, ramp = 0, timeout = 60, period;
static bool windowed;

static connection *all;
static unsigned started, ended, failed, streaming;
static uint64_t tokens, delays[BUCKETS], delay_count, received_ns;
static uint64_t reported_delays[BUCKETS], reported_count;
static char first_error[200];

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// --- delays, in buckets of 1/16 of a power of two of a microsecond

static void note_delay(const char *timestamp) {  // …:SS.nnnnnnnnnZ
    uint64_t sent = strtoul(timestamp + 17, NULL, 10) * 1000000000u + strtoul(timestamp + 20, NULL, 10);
    uint64_t minute = 60000000000u, us = (received_ns % minute + minute - sent) % minute / 1000;
    unsigned power = us < 16 ? 0 : 59 - (unsigned)__builtin_clzl(us);
    unsigned bucket = us < 16 ? (unsigned)us : power * 16 + (unsigned)(us >> power);
    delays[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    delay_count++;
}

// The quantile of the delays without those of an earlier time.
static uint64_t delay_us(double quantile, const uint64_t *earlier, uint64_t earlier_count) {
    uint64_t rank = (uint64_t)(quantile * (double)(delay_count - earlier_count));
    for (unsigned i = 0; i < BUCKETS; i++) {
        uint64_t count = delays[i] - earlier[i];
        if (count > rank) return i < 32 ? i : (uint64_t)(i % 16 + 16) << (i / 16 - 1);
        rank -= count;
    }
    return 0;
}

// --- answers

static void begin(connection *c);

static void finish(connection *c, const char *error, const char *detail, size_t length) {
    c->busy = false;
    ended++;
    if (error) {
        failed++;
        if (!*first_error) snprintf(first_error, sizeof first_error, "%s: %.*s", error, (int)(length < 120 ? length : 120), detail);
        if (c->fd >= 0) close(c->fd);
        c->fd = -1;
    }
    begin(c);
}

static bool complete(connection *c) {
    if (!ended && windowed) printf("{\"down\":%lu}\n", tokens), fflush(stdout);
    return c->complete = true;
}

// Returns false if the line is wrong and the connection was restarted.
static bool check_line(connection *c, const char *line, size_t length) {
    if (!c->complete && spoken->end && length == strlen(spoken->end) && !memcmp(line, spoken->end, length)) {
        return c->seen == tokens_expected ? complete(c) : (finish(c, "early end", line, length), false);
    }
    const char *whole = line;
    size_t whole_length = length, lead = strlen(spoken->lead);
    if (length >= 6 && !memcmp(line, "data: ", 6)) line += 6, length -= 6;
    if (!length || *line != '{') return true;  // names of events, ids and comments of SSE
    const char *content = memmem(line, length, spoken->lead, lead), *time = memmem(line, length, "\"created_at\":\"", 14);
    if (memmem(line, length, "\"error\":{", 9)) return finish(c, "error", whole, whole_length), false;
    if (c->complete || (!content && spoken->whole)) return finish(c, "unexpected line", whole, whole_length), false;
    if (!content) return true;  // other events
    content += lead;
    if (c->seen < tokens_expected) {
        char expected[TOKEN_MAX + 40], *end = put_text(put_token(expected, c->seen), spoken->tail);
        size_t rest = (size_t)(line + length - content), wanted = (size_t)(end - expected);
        if (rest < wanted || (spoken->whole && rest != wanted) || memcmp(content, expected, wanted)) {
            return finish(c, "wrong token", whole, whole_length), false;
        }
        tokens++;
        if (time) note_delay(time + 14);
        if (c->seen++ == 0 && ++streaming == (unsigned)connections && windowed) printf("{\"up\":%lu}\n", tokens), fflush(stdout);
        return true;
    }
    const char *given = memmem(line, length, "\"prompt_eval_count\":", 20);
    if (spoken->end || !memmem(line, length, "\"done\":true", 11) || !given) return finish(c, "wrong end", whole, whole_length), false;
    const char *apart = memmem(line, length, "\"prompt_messages\":", 18);
    unsigned messages = (unsigned)strtoul(apart ? apart + 18 : given + 20, NULL, 10);
    if (messages < least_messages) least_messages = messages;
    if (messages > most_messages) most_messages = messages;
    if (messages_expected && messages != messages_expected + c->number / appids * 2) return finish(c, "wrong history", whole, whole_length), false;
    return complete(c);
}

// Returns false if the answer has failed.
static bool parse_text(connection *c, const char *text, size_t length) {
    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t part = newline ? (size_t)(newline - text) : length;
        if (c->length + part > spoken->line_limit) return finish(c, "line too long", text, part), false;
        if (newline && !c->length) {
            if (!check_line(c, text, part)) return false;
        } else {
            put(c->line + c->length, text, part);
            c->length += part;
            if (newline) {
                size_t whole = c->length;
                c->length = 0;
                if (!check_line(c, c->line, whole)) return false;
            }
        }
        part += newline != NULL;
        text += part, length -= part;
    }
    return true;
}

static void consume(connection *c, const char *p, size_t length) {
    for (const char *limit = p + length; p < limit && c->busy;) {
        size_t here = (size_t)(limit - p);
        if (c->framing == CHUNK) {
            if (here > c->left) here = c->left;
            if (!parse_text(c, p, here)) return;
            p += here;
            if (!(c->left -= here)) c->framing = CHUNK_END;
            continue;
        }
        if (c->framing == HEAD) {
            if (c->length == spoken->line_limit) return finish(c, "head too long", c->line, c->length);
            c->line[c->length++] = *p++;
            if (c->length < 4 || memcmp(c->line + c->length - 4, "\r\n\r\n", 4)) continue;
            bool good = !memcmp(c->line + 8, " 200 ", 5);
            c->line[c->length - 1] = 0;
            if (!good || !strcasestr(c->line, "\ntransfer-encoding: chunked")) return finish(c, "wrong head", c->line, c->length);
            c->length = 0, c->left = 0, c->framing = CHUNK_SIZE;
            continue;
        }
        char byte = *p++;
        if (c->framing == CHUNK_SIZE && byte != '\n' && byte != '\r') {
            int digit = byte >= '0' && byte <= '9' ? byte - '0' : (byte | 32) >= 'a' && (byte | 32) <= 'f' ? (byte | 32) - 'a' + 10 : -1;
            if (digit < 0) return finish(c, "wrong chunk", p - 1, here);
            c->left = c->left * 16 + (unsigned)digit;
        } else if (byte == '\n') {
            if (c->framing == TRAILER) {
                if (c->complete && !c->length) finish(c, NULL, NULL, 0);
                else finish(c, "cut off", c->line, c->length);
                return;
            }
            c->framing = c->framing == CHUNK_END ? CHUNK_SIZE : c->left ? CHUNK : TRAILER;
        }
    }
}

static void receive(connection *c) {
    static char buffer[1 << 17];
    ssize_t n = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return finish(c, "closed", c->line, c->length);
    received_ns = nanoseconds(CLOCK_REALTIME);
    consume(c, buffer, (size_t)n);
}

// --- requests

static uint64_t start_ns;

static void ask(connection *c) {
    char body[1024], request[2048], members[512] = "", field[512] = "", extra[512];
    if (spoken == dialects) {
        snprintf(members, sizeof members, "\"appID\":\"%s%s%s%u\",", owner ? owner : "", owner ? "\",\"conversation\":\"" : "", prefix, started % appids);
    } else {
        snprintf(field, sizeof field, "X-App-ID: %s%s%s%u\r\n", owner ? owner : "", owner ? "\r\nX-Conversation-ID: " : "", prefix, started % appids);
    }
    int n = snprintf(body, sizeof body, spoken->body, members, model);
    c->number = started++;
    snprintf(extra, sizeof extra, further, c->number);
    n = snprintf(request, sizeof request,
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n%s%s%sContent-Length: %d\r\n\r\n%s",
        spoken->path, port, field, extra, *extra ? "\r\n" : "", n, body);
    c->busy = true, c->complete = false;
    c->framing = HEAD;
    c->seen = 0, c->length = 0;
    if (send(c->fd, request, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n) finish(c, "not sent", strerror(errno), 40);
}

// The next request, on the same connection if there is one.
static void begin(connection *c) {
    bool late = (double)(nanoseconds(CLOCK_MONOTONIC) - start_ns) / 1e9 > seconds;
    // A pass over the appIDs is finished.
    if (started >= requests || (late && (appids == UINT32_MAX || started % appids == 0))) {
        if (c->fd >= 0) close(c->fd);
        c->fd = -1;
        return;
    }
    if (c->fd >= 0) return ask(c);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // On loopback this does not wait: the kernel answers.
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) {
        started++;
        if (c->fd >= 0) close(c->fd);
        c->fd = -1, ended++, failed++;
        if (!*first_error) snprintf(first_error, sizeof first_error, "connect: %s", strerror(errno));
        return;
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c});
    ask(c);
}

static void print_text(const char *text) {
    for (; *text; text++) printf(*text < ' ' || *text == '"' || *text == '\\' || *text == 127 ? "\\u%04x" : "%c", (unsigned char)*text);
}

int main(int argc, char **argv) {
    for (int option; (option = getopt(argc, argv, "p:u:m:a:c:n:k:o:H:d:r:e:t:i:w")) != -1;) switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'u':
            for (spoken = dialects; strcmp(spoken->path, optarg);) {
                if (++spoken == dialects + sizeof dialects / sizeof *dialects) return fprintf(stderr, "load: no path %s\n", optarg), 2;
            }
            break;
        case 'm': model = optarg; break;
        case 'a': prefix = optarg; break;
        case 'c': connections = atoi(optarg); break;
        case 'n': requests = (unsigned)atoi(optarg); break;
        case 'k': appids = (unsigned)atoi(optarg); break;
        case 'o': owner = optarg; break;
        case 'H': further = optarg; break;
        case 'i': period = atof(optarg); break;
        case 'd': seconds = atof(optarg); break;
        case 'r': ramp = atof(optarg); break;
        case 'e': messages_expected = (unsigned)atoi(optarg); break;
        case 't': timeout = atof(optarg); break;
        case 'w': windowed = true; break;
        default: return 2;
        }
    if (port <= 0 || connections < 1 || sscanf(model, "t%u", &tokens_expected) != 1) return fputs("load: -p, -c or -m?\n", stderr), 2;
    if (!appids) appids = UINT32_MAX;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    all = calloc((size_t)connections, sizeof *all);
    for (int i = 0; i < connections; i++) all[i].line = malloc(spoken->line_limit);
    poller = epoll_create1(EPOLL_CLOEXEC);
    start_ns = nanoseconds(CLOCK_MONOTONIC);
    int begun = 0;
    double now = 0, reported = 0;
    while (begun < connections || ended < started) {
        now = (double)(nanoseconds(CLOCK_MONOTONIC) - start_ns) / 1e9;
        for (; begun < connections && ramp * begun / connections <= now; begun++) {
            all[begun].fd = -1;
            begin(&all[begun]);
        }
        if (now > timeout) break;
        if (period > 0 && now - reported >= period) {
            reported = now;
            printf("{\"now\":%lu,\"delay_p99_us\":%lu}\n", tokens, delay_us(0.99, reported_delays, reported_count)), fflush(stdout);
            memcpy(reported_delays, delays, sizeof delays);
            reported_count = delay_count;
        }
        static struct epoll_event events[512];
        int n = epoll_wait(poller, events, 512, begun < connections ? 1 : 100);
        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;
            if (c->fd >= 0) receive(c);
        }
    }
    unsigned unfinished = started - ended;
    static const uint64_t none[BUCKETS];
    printf("{\"requests\":%u,\"tokens\":%lu,\"seconds\":%.3f,\"delay_p50_us\":%lu,\"delay_p99_us\":%lu,\"least_messages\":%u,"
        "\"most_messages\":%u,\"errors\":%u,\"first_error\":\"",
        started - failed - unfinished, tokens, now, delay_us(0.5, none, 0), delay_us(0.99, none, 0), most_messages ? least_messages : 0, most_messages,
        failed + unfinished);
    print_text(unfinished && !*first_error ? "not finished in time" : first_error);
    puts("\"}");
    return failed + unfinished > 0;
}
