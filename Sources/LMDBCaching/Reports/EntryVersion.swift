/// Identifies the write of an entry, across processes and restarts, from ``LMDBCache/entry(forKey:)`` for
/// ``LMDBCache/set(_:forKey:ifVersion:expires:cost:)``.
///
/// Unconditional sets of a key by two processes within 256 ns may get the same version with a probability of 1 in 256.
/// Conditional writes never do.
public struct EntryVersion: Sendable, Hashable {
  let stamp: UInt64
}
