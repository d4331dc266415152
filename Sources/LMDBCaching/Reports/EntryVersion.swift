/// Which write made an entry: another write has another version, in whichever process it is made.
///
/// Two processes that set a key without a condition within 256 ns may give it one version: one time in 256 then. Writes
/// that depend on what is there, as by version, never do.
///
/// Of ``LMDBCache/entry(forKey:)``, for ``LMDBCache/set(_:forKey:ifVersion:expires:cost:)``. It is the same for as long as
/// the entry is, also when that is read by another process, or after a restart.
public struct EntryVersion: Sendable, Hashable {
  let stamp: UInt64
}
