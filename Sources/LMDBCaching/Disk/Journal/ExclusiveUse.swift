import Synchronization

/// Whether a process may change entries under a condition by itself, since no other one has the cache open: two words in
/// the header of its journal.
///
/// A write that depends on what is there must not miss anybody else's. While a process is alone the journal's lock sees to
/// that; with others, such writes are transactions of the database, which LMDB makes one after the other.
///
/// - *Revoked*: another process has the cache open, or had. Who opens it sets the word in every journal. The owner clears
///   it when it is alone. Both hold the opening lock.
/// - *Unsettled*: the journal has conditional writes that are not committed. Who has revoked waits for their commit before
///   its own first conditional write.
///
/// The owner sets the second word before it looks at the first, and the other one sets the first before it looks at the
/// second: so one of them knows of the other. (Dekker's algorithm.)
struct ExclusiveUse {
  static let revokedOffset = 64
  static let unsettledOffset = 128
  /// The words as others write and read them: in their own byte order, as the journal is.
  static let setWord = withUnsafeBytes(of: UInt32(1)) { Array($0) }
  static let clearWord = [UInt8](repeating: 0, count: 4)

  private let revoked: UnsafeMutablePointer<Atomic<UInt32>>
  private let unsettled: UnsafeMutablePointer<Atomic<UInt32>>

  /// - Parameter journal: Where its header is mapped.
  init(journal: UnsafeMutableRawPointer) {
    revoked = (journal + Self.revokedOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    unsettled = (journal + Self.unsettledOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  var isRevoked: Bool { revoked.pointee.load(ordering: .sequentiallyConsistent) != 0 }

  func revoke() { revoked.pointee.store(1, ordering: .sequentiallyConsistent) }

  /// The process is alone: with the opening lock held.
  func restore() { revoked.pointee.store(0, ordering: .sequentiallyConsistent) }

  /// Says that a conditional write follows. Returns whether it may be made; if not, and there is no other,
  /// ``settle()`` is to be called.
  func claim() -> Bool {
    unsettled.pointee.store(1, ordering: .sequentiallyConsistent)
    return !isRevoked
  }

  /// Every conditional write is committed.
  func settle() { unsettled.pointee.store(0, ordering: .sequentiallyConsistent) }
}
