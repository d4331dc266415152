// Importing a container is enough.
@_exported public import EFStorageCore
@_exported public import LMDBCaching
import Synchronization

extension LMDBCache: EFFailableUnderlyingStorage {
  /// Compares identities.
  public static func == (lhs: LMDBCache, rhs: LMDBCache) -> Bool { lhs === rhs }

  /// Returns ``defaultForEFStorage``. Replaceable with `@_dynamicReplacement(for: makeDefault())`; setting
  /// ``defaultForEFStorage`` is the supported way.
  public dynamic static func makeDefault() -> LMDBCache? { defaultForEFStorage }

  /// The cache to use if none is given: `LMDBCache(name: "EFStorage", in: .data)` unless set, opened at its first use.
  /// `nil` while that cannot be opened, which is reported and retried after a second.
  ///
  /// Set it before the first use: existing references keep their storage. Any thread.
  public static var defaultForEFStorage: LMDBCache? {
    get { DefaultCache.shared.cache }
    set { DefaultCache.shared.cache = newValue }
  }
}

final class DefaultCache: Sendable {
  static let shared = DefaultCache()

  private enum State {
    case unopened
    case cache(LMDBCache)
    case failed(CacheError, at: ContinuousClock.Instant)
  }

  private let state = Mutex(State.unopened)
  private static let pause = Duration.seconds(1)

  var cache: LMDBCache? {
    get {
      let (cache, failure) = open()
      if let failure {
        EFStorageFailure(.storage, key: "", storage: LMDBCache.self, content: Any.self, underlying: failure).report()
      }
      return cache
    }
    set {
      var new = newValue.map(State.cache) ?? .unopened
      // The old one is released after the lock: closing it calls foreign code.
      state.withLock { swap(&$0, &new) }
    }
  }

  var reason: CacheError {
    let failure: CacheError? = state.withLock { state in
      if case .failed(let error, _) = state { error } else { nil }
    }
    return failure
      ?? CacheError(.storageFailed, "There was no cache when this reference was made; make the property anew.")
  }

  /// The cache, or the failure of a new attempt to open it.
  private func open() -> (LMDBCache?, CacheError?) {
    state.withLock { state in
      switch state {
      case .cache(let cache): return (cache, nil)
      case .failed(_, let instant) where instant.duration(to: .now) < Self.pause: return (nil, nil)
      case .unopened, .failed:
        do throws(CacheError) {
          let cache = try LMDBCache(name: UserDirectory.defaultName, in: .data)
          state = .cache(cache)
          return (cache, nil)
        } catch {
          state = .failed(error, at: .now)
          return (nil, error)
        }
      }
    }
  }
}

extension EFUnderlyingStorageWrapper {
  /// The content under a key of this cache; setting `nil` removes it.
  public subscript<Content: LMDBCacheStorable>(dynamicMember key: String) -> Content? where Base == LMDBCache {
    get { EFStorageLMDBCacheRef.forKey(key, in: base).content }
    set { EFStorageLMDBCacheRef.forKey(key, in: base).content = newValue }
  }

  /// The content under a key of the default cache; setting nil removes it.
  public subscript<Content: LMDBCacheStorable>(dynamicMember key: String) -> Content? where Base == LMDBCache.Type {
    get { EFStorageLMDBCacheRef.forKey(key).content }
    set { EFStorageLMDBCacheRef.forKey(key).content = newValue }
  }
}
