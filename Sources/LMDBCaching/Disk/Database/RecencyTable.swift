import Synchronization

/// Accesses that the records do not tell of yet. A read writes nothing: the table is flushed in batches.
final class RecencyTable: Sendable {
  /// An access is noted when the record's own is older than this many seconds.
  static let granularity: UInt32 = 60
  /// What does not fit is not noted: it bounds the writing that reading can cause.
  static let maximum = 16_384

  private let accesses = Mutex<[ByteKey: UInt32]>([:])
  /// Which keys may be in the table. When it is full, reads of all others pass it by without the lock.
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

  /// Hands over what was noted and starts anew.
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
