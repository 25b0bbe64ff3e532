import Glibc

/// Whether the tests, and so the programs that they start, run under the address sanitizer. Its shadow and the memory around each
/// allocation multiply the memory of a program, so a test that measures memory measures the sanitizer.
public let isAddressSanitized = dlsym(nil, "__asan_init") != nil
