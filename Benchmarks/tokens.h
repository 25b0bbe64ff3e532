// The tokens that `upstream` sends and `load` expects, in their JSON form. bench.py has the same rule, decoded.
#ifndef TOKENS_H
#define TOKENS_H
#include <string.h>

enum { TOKEN_MAX = 40 };

static inline char *put(char *p, const char *text, size_t length) { return (char *)memcpy(p, text, length) + length; }
static inline char *put_text(char *p, const char *text) { return put(p, text, strlen(text)); }

static inline char *put_number(char *p, unsigned long value) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + value % 10); while (value /= 10);
    while (n) *p++ = digits[--n];
    return p;
}

// Plain words, and escapes and characters that are difficult for a relay.
static inline char *put_token(char *p, unsigned number) {
    static const char *const tails[16] = {
        [3] = "\\n", [7] = "\\\"q\\\"", [9] = "\\u003cb\\u003e", [11] = "\xc3\xa9", [13] = "\\\\", [15] = "\\ud83d\\ude00"};
    const char *tail = tails[number % 16];
    p = put_number(put(p, " w", 2), number);
    return tail ? put_text(p, tail) : p;
}
#endif
