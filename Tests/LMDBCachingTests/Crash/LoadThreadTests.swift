#if os(Linux)
  import TestSupport
  import Testing

  /// Loads that run beside their callers, where there are no threads for them.
  @Suite struct LoadThreadTests {
    let directory = CacheDirectory()

    @Test func aChildThatOpensACacheOfItsOwnLoads() throws {
      let own = CacheDirectory()
      let parent = try cacheProcess()
      #expect(parent.run("open \(directory.path)") == "ok")
      #expect(parent.run("loadinchild \(own.path)") == "0")
    }

    /// The caller waits as long as it said, and the load is made as soon as there is a thread.
    @Test func aLoadWithoutAThreadIsMadeLater() throws {
      let process = try cacheProcess()
      #expect(process.run("open \(directory.path)") == "ok")
      #expect(process.run("loadwithoutthread") == "loadTimedOut early late")
    }
  }
#endif
