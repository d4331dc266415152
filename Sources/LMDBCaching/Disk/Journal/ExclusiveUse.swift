import Synchronization

/// Whether a process may make conditional writes through its journal, because no other process has the cache open: two
/// words in the journal's header.
///
/// A conditional write must see every other write. The journal's lock ensures that for a lone process; otherwise such
/// writes are database transactions, which LMDB serializes.
///
/// - *Revoked*: another process has, or had, the cache open. Each process that opens it sets the word in every journal;
///   the owner clears it when alone. Both hold the opening lock.
/// - *Unsettled*: the journal has uncommitted conditional writes. A process that has revoked waits for them before its
///   own first conditional write.
///
/// Each side sets its word before it reads the other's, so at least one of them notices (Dekker's algorithm).
struct ExclusiveUse {
  static let revokedOffset = 64
  static let unsettledOffset = 128
  /// The words as files hold them, in native byte order like the journal.
  static let setWord = withUnsafeBytes(of: UInt32(1)) { Array($0) }
  static let clearWord = [UInt8](repeating: 0, count: 4)

  private let revoked: UnsafeMutablePointer<Atomic<UInt32>>
  private let unsettled: UnsafeMutablePointer<Atomic<UInt32>>

  init(journal: UnsafeMutableRawPointer) {
    revoked = (journal + Self.revokedOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    unsettled = (journal + Self.unsettledOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  var isRevoked: Bool { revoked.pointee.load(ordering: .sequentiallyConsistent) != 0 }

  func revoke() { revoked.pointee.store(1, ordering: .sequentiallyConsistent) }

  /// Requires the opening lock, and no other process.
  func restore() { revoked.pointee.store(0, ordering: .sequentiallyConsistent) }

  /// Announces a conditional write. Returns whether it may be made; if not, and no other is pending, call ``settle()``.
  func claim() -> Bool {
    unsettled.pointee.store(1, ordering: .sequentiallyConsistent)
    return !isRevoked
  }

  func settle() { unsettled.pointee.store(0, ordering: .sequentiallyConsistent) }
}
