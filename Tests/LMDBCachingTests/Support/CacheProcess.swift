import TestSupport

func cacheProcess() throws -> ChildProcess { try ChildProcess("CacheTestProcess") }
