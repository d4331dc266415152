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
