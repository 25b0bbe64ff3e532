// OpenSSL behind ints and opaque pointers: its macros cannot be imported by Swift.
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>

#endif
