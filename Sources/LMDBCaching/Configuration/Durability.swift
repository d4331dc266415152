/// The guarantee for a write that has returned.
///
/// The choice is stored with the cache; processes that share a directory must agree on it. In every mode a returned
/// write survives the death of its process if it could be recorded. If the disk is full or fails, an ``LMDBCache``
/// keeps it in memory only and reports that in ``LMDBCache/health``. With ``full``, and in a ``DiskCache``, such a
/// write throws and changes nothing.
public enum Durability: UInt8, Sendable, CaseIterable {
  /// Group commits that reach the disk in order. After a power cut the cache is consistent, and lacks at most the last
  /// group commit and the uncommitted writes.
  case ordered = 1
  /// Every write waits until it is on the disk (`fsync`). Nothing that returned is lost in a power cut.
  case full = 2
  /// Nothing waits for the disk. After a crash of the operating system the whole cache is discarded.
  case fast = 3
}
