import EFStorageCore
import LMDBCaching
import Synchronization

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
