/// When the database's file is checked before it is mapped; see <doc:DamagedFiles>.
///
/// The check covers the structure, because LMDB trusts its file and a damaged structure would end the process. Values
/// have checksums, which every read compares.
public enum CacheVerification: Sendable, Equatable, CaseIterable {
  /// After the operating system stopped while the cache was open, after a device failed, and after another program
  /// changed, replaced or restored the file. Otherwise opening reads a few hundred bytes, also after the death of a
  /// process, which damages nothing.
  ///
  /// Not detected: changes by a failing medium after a clean exit, and, until the operating system restarts, writes of
  /// another program over the file of a process that was killed while writing.
  case afterUncleanExit
  /// Whenever a process opens the cache while no other has it open. Reads all pages except those of large values: about
  /// a second for a cached gigabyte.
  case always
}
