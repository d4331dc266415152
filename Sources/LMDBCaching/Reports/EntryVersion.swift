/// Which write made an entry: every write of a key has another version, in whichever process it is made.
///
/// Of ``LMDBCache/entry(forKey:)``, for ``LMDBCache/set(_:forKey:ifVersion:expires:cost:)``. It is the same for as long as
/// the entry is, also when that is read by another process, or after a restart.
public struct EntryVersion: Sendable, Hashable {
  let stamp: UInt64
}
