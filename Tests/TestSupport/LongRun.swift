import Foundation

/// Whether this is a long run (`script/test --all`), with the tests that take many seconds each, such as those that measure memory.
public let isLongRun = ProcessInfo.processInfo.environment["CHATTERD_TEST_LONG"] != nil
