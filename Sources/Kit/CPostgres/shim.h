#ifndef CPOSTGRES_H
#define CPOSTGRES_H

// Debian has the header in a folder of its own.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif

// Declared here, so that this module needs no headers of OpenSSL.
struct ssl_st;
int SSL_pending(const struct ssl_st *ssl);

/// The number of bytes that TLS has decrypted and libpq has not read. poll(2) does not report them.
static inline int cpostgres_pending_bytes(PGconn *connection) {
  const struct ssl_st *ssl = (const struct ssl_st *)PQsslStruct(connection, "OpenSSL");
  return ssl ? SSL_pending(ssl) : 0;
}

/// The letters behind the PG_DIAG macros, which Swift cannot import.
enum {
  cpostgres_severity = PG_DIAG_SEVERITY_NONLOCALIZED,
  cpostgres_sqlstate = PG_DIAG_SQLSTATE,
  cpostgres_message = PG_DIAG_MESSAGE_PRIMARY,
  cpostgres_constraint = PG_DIAG_CONSTRAINT_NAME,
  cpostgres_function = PG_DIAG_SOURCE_FUNCTION,
};

#endif
