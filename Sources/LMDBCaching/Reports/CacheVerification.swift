/// When the database's file is read and checked before it is mapped; see <doc:DamagedFiles>.
///
/// What is checked is the structure, as far as LMDB would follow it: it trusts its file, and what is wrong there ends
/// the process. The values need no such check: each has a checksum, which every read compares.
public enum CacheVerification: Sendable, Equatable, CaseIterable {
  /// When the file may not be as this package left it: after the operating system stopped while the cache was open, after
  /// a device failed, and when the file was changed, replaced or restored by somebody else. Otherwise opening reads a few
  /// hundred bytes; so it does after the death of a process, which damages nothing.
  ///
  /// What a failing medium changes in the file without the operating system's knowledge, after a clean exit, goes
  /// unnoticed by this, and so does what a program writes over the file of a process that was killed while it was writing,
  /// until the operating system is started anew.
  case afterUncleanExit
  /// By every process that opens the cache while no other has it open. It reads all pages but those of large values:
  /// about a second for a gigabyte that is in memory already.
  case always
}
