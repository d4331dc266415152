/// When the database's file is read and checked before it is mapped; see <doc:DamagedFiles>.
///
/// What is checked is the structure, as far as LMDB would follow it: it trusts its file, and what is wrong there ends
/// the process. The values need no such check: each has a checksum, which every read compares.
public enum CacheVerification: Sendable, Equatable, CaseIterable {
  /// When the file is not as this package left it: after a process died without closing the cache, and when the file
  /// was changed, replaced or restored by somebody else. After a clean exit opening reads a few hundred bytes.
  ///
  /// What a failing medium changes in the file without the operating system's knowledge, after a clean exit, goes
  /// unnoticed by this.
  case afterUncleanExit
  /// By every process that opens the cache while no other has it open. It reads all pages but those of large values:
  /// about a second for a gigabyte that is in memory already.
  case always
}
