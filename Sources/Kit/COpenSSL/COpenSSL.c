#define _GNU_SOURCE
#include "COpenSSL.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct copenssl_session {
    SSL *ssl;
    int fd;
    /// The last read emptied the socket, so that another one would block.
    int drained;
    /// No further edge will be reported, so that reads continue to the end.
    int peer_closed;
    int ended;
    int system_error;
    unsigned long tls_error;
    /// The bytes that the system has accepted.
    intptr_t sent;
};

// The socket BIO. The one of OpenSSL would raise SIGPIPE, and would read again after every short read.

static int bio_read(BIO *bio, char *buffer, int count) {
    struct copenssl_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (s->drained) {
        BIO_set_retry_read(bio);
        return -1;
    }
    ssize_t n;
    do n = recv(s->fd, buffer, (size_t)count, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        s->drained = n < count && !s->peer_closed;
    } else if (n == 0) {
        s->ended = 1;
    } else if (errno == EAGAIN) {
        BIO_set_retry_read(bio);
    } else {
        s->system_error = errno;
    }
    return (int)n;
}

static int bio_write(BIO *bio, const char *bytes, int count) {
    struct copenssl_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t n;
    do n = send(s->fd, bytes, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        if (errno == EAGAIN) BIO_set_retry_write(bio);
        else s->system_error = errno;
    } else {
        s->sent += n;
    }
    return (int)n;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)number, (void)pointer;
    struct copenssl_session *s = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return s->ended;
    default: return 0;
    }
}

static int bio_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method;

static void make_bio_method(void) {
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "copenssl");
    if (!bio_method) abort();
    BIO_meth_set_read(bio_method, bio_read);
    BIO_meth_set_write(bio_method, bio_write);
    BIO_meth_set_ctrl(bio_method, bio_control);
    BIO_meth_set_create(bio_method, bio_create);
}

// Contexts

static const unsigned char protocols[] = "\x08http/1.1";

static void describe(unsigned long error, const char *what, char *reason, size_t capacity) {
    const char *text = error ? ERR_reason_error_string(error) : NULL;
    char number[32];
    if (!text && error) {
        if (ERR_SYSTEM_ERROR(error)) {
            text = strerror(ERR_GET_REASON(error));
        } else {
            snprintf(number, sizeof number, "error %lx", error);
            text = number;
        }
    }
    snprintf(reason, capacity, "%s%s%s", what, text ? ": " : "", text ? text : "");
}

static struct copenssl_context *refuse(SSL_CTX *ctx, const char *what, char *reason, size_t capacity) {
    // The first error is the cause; the later ones say where it was noticed.
    describe(ERR_peek_error(), what, reason, capacity);
    ERR_clear_error();
    SSL_CTX_free(ctx);
    return NULL;
}

/// A key with a password is refused, because a server cannot ask for the password.
static int no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                           unsigned in_length, void *context) {
    (void)ssl, (void)context;
    unsigned char *selected;
    if (SSL_select_next_proto(&selected, out_length, protocols, sizeof protocols - 1, in, in_length) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;  // RFC 7301 3.2
    *out = selected;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(const SSL_METHOD *method) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_bio_method);
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(method);
    if (!ctx) return NULL;
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    // Reads header and body of a record with one recv.
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_default_passwd_cb(ctx, no_password);
    return ctx;
}

struct copenssl_context *copenssl_server_context(const char *chain, const char *key, char *reason, size_t capacity) {
    SSL_CTX *ctx = make_context(TLS_server_method());
    if (!ctx) return refuse(ctx, "no memory for TLS", reason, capacity);
    if (SSL_CTX_use_certificate_chain_file(ctx, chain) != 1)
        return refuse(ctx, "the certificate cannot be used", reason, capacity);
    // This also checks that the key matches the certificate.
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return refuse(ctx, "the private key cannot be used", reason, capacity);
    // Tickets store the sessions, so that the server keeps none.
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    static const unsigned char id[] = "chatterd";
    SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1);
    SSL_CTX_set_alpn_select_cb(ctx, select_protocol, NULL);
    return (struct copenssl_context *)ctx;
}

/// Whether a context trusts any certificate, apart from those in directories that are searched later.
static int has_certificate(SSL_CTX *ctx) {
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++)
        if (X509_OBJECT_get_type(sk_X509_OBJECT_value(objects, i)) == X509_LU_X509) return 1;
    return 0;
}

struct copenssl_context *copenssl_client_context(const char *authorities, char *reason, size_t capacity) {
    SSL_CTX *ctx = make_context(TLS_client_method());
    if (!ctx) return refuse(ctx, "no memory for TLS", reason, capacity);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    // Loaded before those of the system, so that an empty file is detected.
    if (authorities && SSL_CTX_load_verify_file(ctx, authorities) != 1)
        return refuse(ctx, "the file of certificate authorities cannot be used", reason, capacity);
    if (authorities && !has_certificate(ctx))
        return refuse(ctx, "the file of certificate authorities holds no certificate", reason, capacity);
    if (SSL_CTX_set_default_verify_paths(ctx) != 1)
        return refuse(ctx, "the system's certificates cannot be read", reason, capacity);
    if (SSL_CTX_set_alpn_protos(ctx, protocols, sizeof protocols - 1) != 0)
        return refuse(ctx, "no memory for TLS", reason, capacity);
    ERR_clear_error();
    return (struct copenssl_context *)ctx;
}

void copenssl_context_free(struct copenssl_context *context) { SSL_CTX_free((SSL_CTX *)context); }

/// The second since 1970 (UTC) of a time in a certificate; -1 without one.
static int64_t second(const ASN1_TIME *time) {
    struct tm parts;
    return time && ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : -1;
}

int64_t copenssl_certificate_begin(const struct copenssl_context *context) {
    const X509 *certificate = SSL_CTX_get0_certificate((const SSL_CTX *)context);
    return certificate ? second(X509_get0_notBefore(certificate)) : -1;
}

int64_t copenssl_certificate_end(const struct copenssl_context *context) {
    const X509 *certificate = SSL_CTX_get0_certificate((const SSL_CTX *)context);
    return certificate ? second(X509_get0_notAfter(certificate)) : -1;
}

// Sessions

static struct copenssl_session *make_session(struct copenssl_context *context, int fd) {
    struct copenssl_session *s = calloc(1, sizeof *s);
    BIO *bio = BIO_new(bio_method);
    if (s) s->ssl = SSL_new((SSL_CTX *)context);
    if (!s || !s->ssl || !bio) {
        BIO_free(bio);
        if (s) SSL_free(s->ssl);
        free(s);
        return NULL;
    }
    s->fd = fd;
    BIO_set_data(bio, s);
    SSL_set_bio(s->ssl, bio, bio);
    return s;
}

struct copenssl_session *copenssl_accept(struct copenssl_context *context, int fd) {
    struct copenssl_session *s = make_session(context, fd);
    if (s) SSL_set_accept_state(s->ssl);
    return s;
}

struct copenssl_session *copenssl_connect(struct copenssl_context *context, int fd, const char *host, int is_numeric) {
    struct copenssl_session *s = make_session(context, fd);
    if (!s) return NULL;
    SSL_set_connect_state(s->ssl);
    int fine;
    if (is_numeric) {
        // RFC 6066 3: no server name for addresses.
        fine = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), host);
    } else {
        SSL_set_hostflags(s->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        fine = SSL_set1_host(s->ssl, host) == 1 && SSL_set_tlsext_host_name(s->ssl, host) == 1;
    }
    if (fine == 1) return s;
    ERR_clear_error();
    copenssl_session_free(s);
    return NULL;
}

void copenssl_session_free(struct copenssl_session *session) {
    SSL_free(session->ssl);
    free(session);
}

void copenssl_became_readable(struct copenssl_session *session, int peer_closed) {
    session->drained = 0;
    session->peer_closed |= peer_closed;
}

static int code(struct copenssl_session *s, int result) {
    switch (SSL_get_error(s->ssl, result)) {
    case SSL_ERROR_WANT_READ: return COPENSSL_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return COPENSSL_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN: return COPENSSL_END;
    default:
        s->tls_error = ERR_peek_error();
        ERR_clear_error();
        if (s->ended && !s->system_error && (!s->tls_error || ERR_GET_REASON(s->tls_error) == SSL_R_UNEXPECTED_EOF_WHILE_READING))
            return COPENSSL_TRUNCATED;
        return COPENSSL_FAILED;
    }
}

static int bounded(size_t count) { return count > INT32_MAX ? INT32_MAX : (int)count; }

int copenssl_handshake(struct copenssl_session *session) {
    ERR_clear_error();
    int result = SSL_do_handshake(session->ssl);
    return result == 1 ? 1 : code(session, result);
}

intptr_t copenssl_read(struct copenssl_session *session, void *buffer, size_t count) {
    ERR_clear_error();
    int n = SSL_read(session->ssl, buffer, bounded(count));
    return n > 0 ? n : code(session, n);
}

intptr_t copenssl_write(struct copenssl_session *session, const void *bytes, size_t count) {
    ERR_clear_error();
    int n = SSL_write(session->ssl, bytes, bounded(count));
    return n > 0 ? n : code(session, n);
}

int copenssl_shutdown(struct copenssl_session *session) {
    ERR_clear_error();
    int result = SSL_shutdown(session->ssl);
    // 0: sent, while that of the peer has not arrived.
    return result >= 0 ? 1 : code(session, result);
}

void copenssl_session_reason(struct copenssl_session *session, char *reason, size_t capacity) {
    long verdict = SSL_get_verify_result(session->ssl);
    if (verdict != X509_V_OK && ERR_GET_REASON(session->tls_error) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        snprintf(reason, capacity, "certificate refused: %s", X509_verify_cert_error_string(verdict));
    } else if (session->system_error) {
        snprintf(reason, capacity, "%s", strerror(session->system_error));
    } else if (session->tls_error) {
        describe(session->tls_error, "TLS", reason, capacity);
    } else {
        snprintf(reason, capacity, "the peer ended the connection");
    }
}

intptr_t copenssl_sent_count(const struct copenssl_session *session) { return session->sent; }

int copenssl_session_errno(const struct copenssl_session *session) { return session->system_error; }
