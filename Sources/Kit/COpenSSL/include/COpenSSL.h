// TLS over a non-blocking descriptor, in ints and opaque pointers, because Swift cannot import the macros of OpenSSL.
#ifndef COPENSSL_H
#define COPENSSL_H

#include <stddef.h>
#include <stdint.h>

struct copenssl_context;
struct copenssl_session;

/// The results of a step of a session other than a count of bytes.
enum {
    /// The peer closed its direction properly (close_notify).
    COPENSSL_END = 0,
    COPENSSL_WANTS_READ = -1,
    COPENSSL_WANTS_WRITE = -2,
    /// The session is broken, see `copenssl_session_reason` and `copenssl_session_errno`.
    COPENSSL_FAILED = -3,
    /// The connection ended without close_notify, so that the bytes may be incomplete.
    COPENSSL_TRUNCATED = -4
};

/// A context for servers of the chain and the key of two PEM files; NULL on failure, with the reason in `reason`.
struct copenssl_context *copenssl_server_context(const char *chain, const char *key, char *reason, size_t capacity);
/// A context for clients that trusts the system's roots and those of a PEM file, if any; NULL on failure, as above.
struct copenssl_context *copenssl_client_context(const char *authorities, char *reason, size_t capacity);
void copenssl_context_free(struct copenssl_context *context);
/// The second since 1970 (UTC) from which the certificate of a server's context is valid; -1 without one.
int64_t copenssl_certificate_begin(const struct copenssl_context *context);
/// The second since 1970 (UTC) at which the certificate of a server's context expires; -1 without one.
int64_t copenssl_certificate_end(const struct copenssl_context *context);

/// A session on a descriptor, which the caller keeps; NULL if there is no memory.
struct copenssl_session *copenssl_accept(struct copenssl_context *context, int fd);
/// The same for a client, which checks the certificate for `host`, a name or a numeric address; NULL also if it is neither.
struct copenssl_session *copenssl_connect(struct copenssl_context *context, int fd, const char *host, int is_numeric);
void copenssl_session_free(struct copenssl_session *session);

/// The descriptor became readable; `peer_closed` says that no further edge will follow.
void copenssl_became_readable(struct copenssl_session *session, int peer_closed);

/// 1 if the handshake is complete, else one of the codes above.
int copenssl_handshake(struct copenssl_session *session);
intptr_t copenssl_read(struct copenssl_session *session, void *buffer, size_t count);
/// After a code that requires a retry, the next call begins with the same bytes, at any address, with or without further ones.
intptr_t copenssl_write(struct copenssl_session *session, const void *bytes, size_t count);
/// Sends close_notify; 1 if it is sent, else one of the codes above.
int copenssl_shutdown(struct copenssl_session *session);

/// The bytes that the system has accepted since the session began, those of TLS itself included.
intptr_t copenssl_sent_count(const struct copenssl_session *session);

/// The reason for which the last step failed, for people.
void copenssl_session_reason(struct copenssl_session *session, char *reason, size_t capacity);
/// The error of the last system call that failed, 0 if none failed.
int copenssl_session_errno(const struct copenssl_session *session);

#endif
