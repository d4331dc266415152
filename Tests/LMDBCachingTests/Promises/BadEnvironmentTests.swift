#if canImport(Glibc)
  import Foundation
  import Glibc
  import LMDBCaching
  import TestSupport
  import Testing

  /// Processes that lack what every process has.
  @Suite struct BadEnvironmentTests {
    let directory = CacheDirectory()

    /// The descriptors 0 to 2 are then those of the next files that are opened.
    @Test func whatIsWrittenToStandardErrorIsInNoFile() throws {
      let outcome = try BoundedProcess.run("CacheTestProcess", input: ["lowdescriptors \(directory.path)"])
      #expect(outcome.isOrderly && outcome.answers == ["ok"], "\(outcome)")
      for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
        guard let contents = FileManager.default.contents(atPath: directory.path + "/" + name) else { continue }
        #expect(contents.range(of: Data("A MESSAGE".utf8)) == nil, "\(name)")
      }
      let cache = try directory.open()
      #expect(cache.recovery == nil)
      #expect(try cache.value(String.self, forKey: "key") == "w")
      try cache.close()
    }

    /// Without its writer thread a cache would wait for ever.
    @Test func aThreadThatCannotBeStartedIsTheNamedError() throws {
      if getuid() == 0 { #expect(chown(directory.path, 61_234, 61_234) == 0) }
      let outcome = try BoundedProcess.run(
        "CacheTestProcess", input: ["nothreads", "open \(directory.path)", "flush", "exit"], within: 60)
      #expect(outcome.answers.first == "ok")
      #expect(outcome.isOrderly, "\(outcome)")
      // No open cache.
      #expect(outcome.answers.count > 1 && outcome.answers[1].hasPrefix("error "), "\(outcome)")
      if getuid() == 0 { #expect(chown(directory.path, 0, 0) == 0) }
    }

    @Test func aChildThatIsForkedWhileAnotherThreadOpensCanOpen() throws {
      let held = CacheDirectory()
      let holder = try cacheProcess()
      #expect(holder.run("stopopening \(held.path)") == "stopping")
      holder.awaitSuspension()
      let outcome = try BoundedProcess.run(
        "CacheTestProcess", input: ["forkwhileopening \(held.path) \(directory.path)", "exit"], within: 60)
      #expect(outcome.isOrderly && outcome.answers == ["ok"], "\(outcome)")
      let cache = try directory.open()
      #expect(try cache.value(String.self, forKey: "child") == "of the child")
      try cache.close()
    }
  }
#endif
