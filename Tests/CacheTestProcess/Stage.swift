import Foundation
import LMDBCaching
import Logging
import Synchronization

/// Cache use by an application's log handlers and deinitializers, which run at unexpected moments.
final class Stage: Sendable {
  enum Action: String {
    case count
    case value
    case set
    case flush
    /// Opens and closes another directory.
    case openOther
    /// Opens and closes the cache's own directory.
    case openSame
    case close
  }

  private struct State {
    var cache: LMDBCache?
    var action: Action?
    var directory = ""
    /// The cache's configuration.
    var configuration = CacheConfiguration()
    var actions = 0
    var hasBegun = false
    var failure: String?
  }

  static let shared = Stage()
  private static let isActing = "isActing"
  /// Limits the number of actions, because a log can be long.
  private static let limit = 300

  private let state = Mutex(State())

  func begin(_ action: Action, in directory: String) {
    state.withLock {
      $0.action = action
      $0.directory = directory
    }
  }

  /// Must be called before a cache is opened.
  func expect(_ configuration: CacheConfiguration) { state.withLock { $0.configuration = configuration } }

  func enter(_ cache: LMDBCache?) {
    let left = state.withLock { state in
      defer { state.cache = cache }
      return state.cache
    }
    // Release it outside the lock.
    withExtendedLifetime(left) {}
  }

  /// Waits for pending actions; returns whether anything was done, or what went wrong.
  func awaitReport(within limit: Duration) -> String {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline, state.withLock({ $0.actions == 0 }) {
      usleep(1_000)
    }
    return state.withLock { state in
      state.failure ?? (state.actions > 0 ? "acted" : state.hasBegun ? "hangs" : "nobody asked")
    }
  }

  /// Performs the action, unless this thread is already performing it.
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
      // Expected from a closed cache, or one that cannot commit.
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
      // Settings are per process and directory.
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
    case .count: _ = try cache.count + cache.totalCost
    case .value:
      cache.memory.removeAll()
      _ = try cache.value(String.self, forKey: "key")
    case .set: try cache.set("by somebody who was called", forKey: "called")
    case .flush: try cache.flush()
    case .close: try cache.close()
    case .openOther, .openSame: break
    }
  }
}
