import Synchronization

final class ChangeMailbox: Sendable {
  /// Work for after the lock.
  struct Delivery {
    fileprivate let continuation: CheckedContinuation<CacheChange?, Never>
    fileprivate let change: CacheChange?

    func callAsFunction() { continuation.resume(returning: change) }
  }

  private struct State {
    var queue: ChangeQueue
    var waiters: [CheckedContinuation<CacheChange?, Never>] = []
    var isEnded = false
  }

  private let state: Mutex<State>

  init(limit: Int) { state = Mutex(State(queue: ChangeQueue(limit: limit))) }

  /// Delivers a change to the waiting task, or queues it.
  func push(_ change: CacheChange) -> Delivery? {
    state.withLock { state in
      if state.isEnded { return nil }
      if state.waiters.isEmpty {
        state.queue.append(change)
        return nil
      }
      return Delivery(continuation: state.waiters.removeFirst(), change: change)
    }
  }

  /// Pending changes can still be taken.
  func end() {
    let waiters = state.withLock { state in
      state.isEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: nil) }
  }

  func take() -> CacheChange? { state.withLock { $0.queue.popFirst() } }

  /// The next change, or `nil` at the end. A cancelled task gets `nil`, and ends the mailbox.
  func next() async -> CacheChange? {
    if Task.isCancelled {
      end()
      return nil
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: CacheChange?? = state.withLock { state in
          if let change = state.queue.popFirst() { return .some(change) }
          if state.isEnded { return .some(nil) }
          state.waiters.append(continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end()
    }
  }
}

/// One observer's pending changes: bounded, and one for each key.
struct ChangeQueue {
  static let maximumBytes = 1 << 20

  private let limit: Int
  private var hasMissed = false
  /// Oldest first, with `nil` for taken or superseded ones.
  private var changes: [CacheChange?] = []
  private var head = 0
  /// The number dropped from the front of `changes`; positions count from the first change ever.
  private var dropped = 0
  private var positions: [ByteKey: Int] = [:]
  private var count = 0
  private var bytes = 0

  /// Clamped, because it is multiplied.
  init(limit: Int) { self.limit = min(max(1, limit), 1 << 40) }

  mutating func append(_ change: CacheChange) {
    switch change {
    case .missed: overflow()
    case .removedAll(let prefix):
      supersede(prefix)
      append(change, size: prefix.utf8.count)
    case .set(let key), .removed(let key), .evicted(let key), .expired(let key):
      if let position = positions[ByteKey(key)] {
        changes[position - dropped] = change
        return
      }
      positions[ByteKey(key)] = dropped + changes.count
      append(change, size: key.utf8.count)
    }
  }

  mutating func popFirst() -> CacheChange? {
    if hasMissed {
      hasMissed = false
      return .missed
    }
    while head < changes.count {
      let change = changes[head].take()
      head += 1
      if head > 64 && head > changes.count / 2 {
        changes.removeFirst(head)
        dropped += head
        head = 0
      }
      guard let change else { continue }
      forget(change)
      return change
    }
    return nil
  }

  private mutating func append(_ change: CacheChange, size: Int) {
    changes.append(change)
    count += 1
    bytes += size
    // Superseded places count too, or they would accumulate behind one that is never taken.
    if count > limit || bytes > Self.maximumBytes || changes.count - head > 4 * limit + 64 { overflow() }
  }

  private mutating func supersede(_ prefix: String) {
    for index in head..<changes.count {
      guard let change = changes[index] else { continue }
      let isSuperseded =
        switch change {
        case .removedAll(let other): other.utf8.starts(with: prefix.utf8)
        default: change.key.map { $0.utf8.starts(with: prefix.utf8) } ?? false
        }
      guard isSuperseded else { continue }
      forget(change)
      changes[index] = nil
    }
  }

  private mutating func forget(_ change: CacheChange) {
    count -= 1
    switch change {
    case .removedAll(let prefix): bytes -= prefix.utf8.count
    default:
      guard let key = change.key else { return }
      bytes -= key.utf8.count
      positions[ByteKey(key)] = nil
    }
  }

  /// Replaces all pending changes by one instruction to reread.
  private mutating func overflow() {
    self = ChangeQueue(limit: limit)
    hasMissed = true
  }
}

/// Waits for possible changes of one entry.
package struct KeyChanges: Sendable {
  private let changes: ChangeObservation
  private let alarm: ExpiryAlarm
  private var isFirst = true
  /// The entry seen last, `.some(nil)` for a missing one, or `nil` if unknown: not seen yet, or set and gone already.
  private var last: EntryVersion??
  private var isSet = false

  package init(_ cache: LMDBCache, key: String) {
    // A key has one pending change; more are removals by prefix.
    changes = cache.changes(withPrefix: key, isOfOneKey: true, bufferingLimit: 16, trackingLimit: 1).observation
    alarm = ExpiryAlarm(cache.store.clock, key: key, mailbox: changes.mailbox)
  }

  /// Returns at once at the first call, then after each change; returns `false` at the end.
  package mutating func next() async -> Bool {
    if isFirst {
      isFirst = false
      return !Task.isCancelled
    }
    guard let change = await changes.mailbox.next() else { return false }
    if case .set = change { isSet = true } else { isSet = false }
    return true
  }

  /// Returns `false` for the entry seen last, or if it is still missing. Call it before reading the value: a concurrent
  /// write is then seen twice, never missed.
  ///
  /// - Parameter entry: `nil` if it is missing on the disk.
  package mutating func isNew(_ entry: CacheEntry?) -> Bool {
    alarm.set(entry?.expires ?? 0)
    defer { last = entry == nil && isSet ? nil : .some(entry?.version) }
    guard let last, entry != nil || !isSet else { return true }
    return entry?.version != last
  }
}
