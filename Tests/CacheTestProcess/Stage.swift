import Foundation
import LMDBCaching
import Logging
import Synchronization

/// What log handlers and deinitializers of an application do, which are called when they do not expect it: they use the
/// cache.
final class Stage: Sendable {
  enum Action: String {
    case count
    case value
    case set
    case flush
    /// Opens another directory, and closes it.
    case openOther
    /// Opens the directory that the cache is, or will be, in, and closes it.
    case openSame
    case close
  }

  private struct State {
    var cache: LMDBCache?
    var action: Action?
    var directory = ""
    /// What the cache is, or will be, opened with.
    var configuration = CacheConfiguration()
    var actions = 0
    var hasBegun = false
    var failure: String?
  }

  static let shared = Stage()
  private static let isActing = "isActing"
  /// So many times it acts; a log can be long.
  private static let limit = 300

  private let state = Mutex(State())

  func begin(_ action: Action, in directory: String) {
    state.withLock {
      $0.action = action
      $0.directory = directory
    }
  }

  /// To be called before a cache is opened.
  func expect(_ configuration: CacheConfiguration) { state.withLock { $0.configuration = configuration } }

  /// The cache that is open; `nil`: none.
  func enter(_ cache: LMDBCache?) {
    let left = state.withLock { state in
      defer { state.cache = cache }
      return state.cache
    }
    // Its end is not under the lock.
    withExtendedLifetime(left) {}
  }

  /// Whether something was done, or what went wrong; waits for what another thread is at, or has yet to begin.
  func awaitReport(within limit: Duration) -> String {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline, state.withLock({ $0.actions == 0 }) {
      usleep(1_000)
    }
    return state.withLock { state in
      state.failure ?? (state.actions > 0 ? "acted" : state.hasBegun ? "hangs" : "nobody asked")
    }
  }

  /// Does what was asked for, but not while it is at it on the same thread.
  func act() {
    let thread = Thread.current
    if thread.threadDictionary[Self.isActing] != nil { return }
    let (action, cache, directory) = state.withLock { state in
      (state.actions < Self.limit ? state.action : nil, state.cache, state.directory)
    }
    guard let action else { return }
    thread.threadDictionary[Self.isActing] = true
    defer { thread.threadDictionary[Self.isActing] = nil }
    let needsCache = action != .openOther && action != .openSame
    if needsCache && cache == nil { return }
    state.withLock { $0.hasBegun = true }
    do {
      try perform(action, cache, directory)
      state.withLock { $0.actions += 1 }
    } catch {
      // What a cache may answer that is closed or cannot commit.
      let code = (error as? CacheError)?.code
      let isExpected = code == .closed || code == .notCommitted || code == .noSpace || code == .busy
      state.withLock { state in
        state.actions += 1
        if !isExpected { state.failure = "\(action): \(error)" }
      }
    }
  }

  private func perform(_ action: Action, _ cache: LMDBCache?, _ directory: String) throws {
    switch action {
    case .openOther, .openSame:
      // A directory has one of each setting in a process.
      var configuration = state.withLock { $0.configuration }
      configuration.logger = Logger(label: "guest", factory: { _ in SwiftLogNoOpLogHandler() })
      let path = action == .openSame ? directory : directory + "-other"
      let opened = try LMDBCache(directory: URL(fileURLWithPath: path), configuration: configuration)
      try opened.set("of the other", forKey: "theirs")
      try opened.close()
    case .count, .value, .set, .flush, .close:
      if let cache { try perform(action, cache) }
    }
  }

  private func perform(_ action: Action, _ cache: LMDBCache) throws {
    switch action {
    case .count: _ = cache.count + cache.totalCost
    case .value:
      cache.memoryCache.removeAll()
      _ = try cache.value(String.self, forKey: "key")
    case .set: try cache.set("by somebody who was called", forKey: "called")
    case .flush: try cache.flush()
    case .close: try cache.close()
    case .openOther, .openSame: break
    }
  }
}
