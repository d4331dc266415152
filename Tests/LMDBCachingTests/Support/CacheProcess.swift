import TestSupport

/// Another process that uses a cache: see Tests/CacheTestProcess.
func cacheProcess() throws -> ChildProcess { try ChildProcess("CacheTestProcess") }
