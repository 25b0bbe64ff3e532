import Glibc

/// Whether the tests, and so the programs that they start, run under the address or the thread sanitizer. A sanitizer multiplies
/// the memory of a program, so a test that measures memory measures the sanitizer.
public let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
