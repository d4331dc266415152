import EFStorageLMDBCache
import Foundation
import TestSupport
import Testing

/// A default that is to be stored, and other processes.
@Suite struct DefaultProcessTests {
  /// Text that lets somebody else write just before it is stored.
  private struct Interrupted: LMDBCacheStorable, Equatable {
    nonisolated(unsafe) static var interruption: (() -> Void)?

    var text: String

    func asLMDBCacheStorable() -> Result<any NSCoding, any Error> {
      Self.interruption?()
      return .success(CacheValue.make(text))
    }

    static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Interrupted? {
      (try? cache.value(String.self, forKey: key)).flatMap { $0 }.map(Interrupted.init)
    }
  }

  private func child(_ directory: TemporaryDirectory) throws -> ChildProcess {
    try ChildProcess("EFStorageTestProcess", ["serve-cache", directory.url.appendingPathComponent("cache").path])
  }

  /// What another process stored since it was looked whether anything is there stays.
  @Test func aDefaultDoesNotReplaceWhatAnotherProcessWrote() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let child = try child(directory)
    #expect(child.run("get") == "default")
    Interrupted.interruption = {
      Interrupted.interruption = nil
      #expect(child.run("set theirs") == "done")
    }
    let property = EFStorageLMDBCache(
      wrappedValue: Interrupted(text: "mine"), forKey: "shared", in: cache, persistDefaultContent: true)
    #expect(Interrupted.interruption == nil)
    #expect(property.wrappedValue.text == "theirs")
    try cache.flush()
    #expect(child.run("get") == "theirs")
    child.end()
    try cache.close()
  }

  /// The store of typed keys and the properties that name no cache have one, which no cleaner of caches empties.
  @Test func theDefaultsOfAnApplicationAreOneCache() throws {
    let directory = try TemporaryDirectory()
    let process = try ChildProcess(
      "EFStorageTestProcess", ["share-default"],
      environment: ["XDG_DATA_HOME": directory.url.path, "HOME": directory.url.path])
    let lines = process.readRemaining()
    #expect(lines.count == 4)
    #expect(lines.first?.contains(directory.url.lastPathComponent) == true)
    #expect(lines.dropFirst() == ["1", "2", "other 3 2"])
  }

  /// Many rounds of both at once: each key ends with what the other process set.
  @Test func defaultsBesideWritesOfAnotherProcess() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache { $0.disk.groupCommitInterval = .milliseconds(1) }
    let child = try child(directory)
    for round in 0..<100 {
      child.send("set \(round)")
      let property = EFStorageLMDBCache(
        wrappedValue: "default", forKey: "shared", in: cache, persistDefaultContent: true)
      let found = property.wrappedValue
      #expect(child.readLine() == "done")
      try cache.flush()
      #expect(property.wrappedValue == "\(round)", "The property was \(found).")
      #expect(child.run("get") == "\(round)")
      #expect(child.run("remove") == "done")
    }
    child.end()
    try cache.close()
  }
}
