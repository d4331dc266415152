import Synchronization

/// Accesses not yet written to their records. Reads write nothing; the table is flushed in batches.
final class RecencyTable: Sendable {
  /// An access is noted when the recorded one is this many seconds older.
  static let granularity: UInt32 = 60
  /// Accesses beyond this are dropped, which bounds the writes that reads can cause.
  static let maximum = 16_384

  private let accesses = Mutex<[ByteKey: UInt32]>([:])
  /// When the table is full, lets reads of other keys skip the lock.
  private let members = KeyFilter()
  private let isFull = Atomic<Bool>(false)

  @inline(__always)
  func note(_ key: String, recorded: UInt32, now: UInt32) {
    if now > recorded &+ Self.granularity { insert(key, now) }
  }

  @inline(never)
  private func insert(_ key: String, _ now: UInt32) {
    let hash = KeyIdentity.hash(key, seed: KeyIdentity.seed)
    if isFull.load(ordering: .relaxed), !members.mayContain(hash) { return }
    accesses.withLock { accesses in
      let key = ByteKey(key)
      if accesses.count == Self.maximum {
        if accesses[key] != nil { accesses[key] = now }
        return
      }
      accesses[key] = now
      members.insert(hash)
      if accesses.count == Self.maximum { isFull.store(true, ordering: .relaxed) }
    }
  }

  var isEmpty: Bool { accesses.withLock { $0.isEmpty } }

  func lastAccess(of key: String) -> UInt32? { accesses.withLock { $0[ByteKey(key)] } }

  func drain() -> [ByteKey: UInt32] {
    accesses.withLock { accesses in
      defer {
        accesses = [:]
        isFull.store(false, ordering: .relaxed)
        members.removeAll()
      }
      return accesses
    }
  }
}
