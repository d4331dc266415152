import EFStorageLMDBCache
import Foundation
import Storez
import TestSupport
import Testing

@Suite struct DefaultProcessTests {
  /// A text that lets another writer in just before it is stored.
  private struct Interrupted: LMDBCacheStorable, Equatable {
    // Only one test sets it, and it runs on that test's thread.
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

  /// Another process's write after the check must stay.
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

  private static let visits = Key<GlobalNamespace, Int>(id: "visits", defaultValue: 0)

  /// Typed keys, and properties that name no cache, share one that cache cleaners leave alone. Uses a child process,
  /// because the folder is looked up once.
  @Test func theDefaultsOfAnApplicationAreOneCache() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      setenv("XDG_DATA_HOME", directory.url.path, 1)
      setenv("HOME", directory.url.path, 1)
      let property = EFStorageLMDBCacheRef<Int>.forKey("visits")
      property.content = 1
      let store = try LMDBStore()
      #expect(store.cache.directory.path.contains(directory.url.lastPathComponent))
      #expect(store.get(Self.visits) == 1)
      store.set(Self.visits, value: 2)
      #expect(property.content == 2)
      let other = try LMDBStore(name: "other")
      other.set(Self.visits, value: 3)
      #expect(other.cache.directory.lastPathComponent == "other")
      #expect(other.get(Self.visits) == 3 && store.get(Self.visits) == 2)
    }
  }
}
