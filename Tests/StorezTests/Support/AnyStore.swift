import Storez
import Testing

/// Type-erases a store, for what all stores have in common.
struct AnyStore: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let store: any Store & Sendable
  /// Owns the storage of the values.
  private let owner: any Sendable

  let getText: @Sendable (RecordingKey<String>) -> String
  let setText: @Sendable (RecordingKey<String>, String) -> Void
  let getOptional: @Sendable (Key<Animals, String?>) -> String?
  let setOptional: @Sendable (Key<Animals, String?>, String?) -> Void
  let getCount: @Sendable (Key<Animals, Int>) -> Int
  let setCount: @Sendable (Key<Animals, Int>, Int) -> Void
  let getWords: @Sendable (Key<Animals, Words>) -> Words
  let setWords: @Sendable (Key<Animals, Words>, Words) -> Void
  let observe: @Sendable (@escaping @Sendable (StorezFailure) -> Void) -> Void

  static func makeAll() throws -> [AnyStore] { try makeMigrating() + [cache()] }
  static func makeMigrating() throws -> [AnyStore] { [userDefaults(), try lmdb()] }

  static func userDefaults() -> AnyStore {
    let suite = TemporarySuite()
    let store = suite.store
    return AnyStore(
      testDescription: "user defaults", store: store, owner: suite,
      getText: { store.get($0) }, setText: { store.set($0, value: $1) },
      getOptional: { store.get($0) }, setOptional: { store.set($0, value: $1) },
      getCount: { store.get($0) }, setCount: { store.set($0, value: $1) },
      getWords: { store.get($0) }, setWords: { store.set($0, value: $1) },
      observe: { store.onFailure = $0 })
  }

  static func cache() -> AnyStore {
    let store = CacheStore()
    return AnyStore(
      testDescription: "memory", store: store, owner: store,
      getText: { store.get($0) }, setText: { store.set($0, value: $1) },
      getOptional: { store.get($0) }, setOptional: { store.set($0, value: $1) },
      getCount: { store.get($0) }, setCount: { store.set($0, value: $1) },
      getWords: { store.get($0) }, setWords: { store.set($0, value: $1) },
      observe: { store.onFailure = $0 })
  }

  static func lmdb() throws -> AnyStore {
    let temporary = try TemporaryCache()
    let store = temporary.store
    return AnyStore(
      testDescription: "LMDB", store: store, owner: temporary,
      getText: { store.get($0) }, setText: { store.set($0, value: $1) },
      getOptional: { store.get($0) }, setOptional: { store.set($0, value: $1) },
      getCount: { store.get($0) }, setCount: { store.set($0, value: $1) },
      getWords: { store.get($0) }, setWords: { store.set($0, value: $1) },
      observe: { store.onFailure = $0 })
  }
}
