import Foundation
import LMDBCaching
import Logging
import TestSupport

/// Cache use by an application's log handlers and deinitializers, which run at unexpected moments.
final class Stage: Sendable {
  enum Action: String {
    case count, value, set, flush, close
    /// Opens and closes another directory, or the cache's own.
    case openOther, openSame
  }

  private struct State {
    var cache: LMDBCache?
    var action: Action?
    var directory = ""
    /// The cache's configuration.
    var configuration = CacheConfiguration()
    var actions = 0
    var failure: String?
  }

  static let shared = Stage()
  private static let isActing = "isActing"
  /// Limits the number of actions, because a log can be long.
  private static let limit = 300

  private let state = Guarded(State())

  func begin(_ action: Action, in directory: String) {
    state {
      $0.action = action
      $0.directory = directory
    }
  }

  /// Must be called before a cache is opened.
  func expect(_ configuration: CacheConfiguration) { state { $0.configuration = configuration } }

  func enter(_ cache: LMDBCache?) {
    let left = state { state in
      defer { state.cache = cache }
      return state.cache
    }
    // Release it outside the lock.
    withExtendedLifetime(left) {}
  }

  /// Waits for an action. Returns `acted`, or the failure.
  func report() -> String {
    let hasActed = eventually { state.current.actions > 0 }
    return state.current.failure ?? (hasActed ? "acted" : "nothing happened")
  }

  /// Performs the action, unless this thread is already performing it.
  func act() {
    let thread = Thread.current
    let now = state.current
    guard thread.threadDictionary[Self.isActing] == nil, now.actions < Self.limit, let action = now.action else {
      return
    }
    thread.threadDictionary[Self.isActing] = true
    defer { thread.threadDictionary[Self.isActing] = nil }
    do {
      if try !perform(action, now) { return }
      state { $0.actions += 1 }
    } catch {
      // Expected from a closed cache, or one that cannot commit.
      let code = (error as? CacheError)?.code
      let isExpected = code == .closed || code == .notCommitted || code == .noSpace || code == .busy
      state { state in
        state.actions += 1
        if !isExpected { state.failure = "\(action): \(error)" }
      }
    }
  }

  /// Returns false without a cache.
  private func perform(_ action: Action, _ now: State) throws -> Bool {
    if action == .openOther || action == .openSame {
      // Settings are per process and directory.
      var configuration = now.configuration
      configuration.logger = Logger(label: "guest", factory: { _ in SwiftLogNoOpLogHandler() })
      let path = now.directory + (action == .openSame ? "" : "-other")
      let opened = try LMDBCache(directory: URL(fileURLWithPath: path), configuration: configuration)
      try opened.set("of the other", forKey: "theirs")
      try opened.close()
      return true
    }
    guard let cache = now.cache else { return false }
    switch action {
    case .count: _ = try cache.count + cache.totalCost
    case .value:
      cache.memory.removeAll()
      _ = try cache.value(String.self, forKey: "key")
    case .set: try cache.set("by a callback", forKey: "called")
    case .flush: try cache.flush()
    default: try cache.close()
    }
    return true
  }
}

struct ActingLog: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { Stage.shared.act() }
}

/// A value that uses its cache when it is released.
private final class ActingValue: Codable, Sendable {
  let number: Int

  init(_ number: Int) { self.number = number }

  deinit { Stage.shared.act() }
}

extension Session {
  /// values ASYNCHRONOUSLY [ACTION]: stores values that use the cache when they are released, and releases them in every way.
  func useActingValues(asynchronously: Bool) throws -> String {
    let cache = try opened()
    cache.memory.releasesAsynchronously = asynchronously
    func store() throws { for index in 0..<60 { try cache.set(ActingValue(index), forKey: "t\(index)") } }
    try store()
    for index in 0..<10 { try cache.set("text", forKey: "t\(index)") }
    for index in 10..<20 { try cache.removeValue(forKey: "t\(index)") }
    cache.memory.trim(to: .count(30))
    // Runs on the writer thread; evicting from disk evicts from memory.
    try cache.disk.trim(to: .count(15))
    try store()
    try cache.trim(to: .count(30))
    try cache.disk.trim(to: .age(.zero))
    try store()
    try cache.write { batch in
      for index in 0..<10 { batch.set("text", forKey: "t\(index)") }
      batch.removeAll(.prefix("t1"))
    }
    try cache.removeAll(.prefix("t2"))
    cache.memory.removeAll()
    try store()
    try cache.removeAll()
    try cache.flush()
    try store()
    return "ok"
  }
}
