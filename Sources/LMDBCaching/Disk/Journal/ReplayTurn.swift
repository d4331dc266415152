#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The right to bring in the journals of processes that died: a lock on the journals' folder, of one process at a time.
struct ReplayTurn: ~Copyable {
  /// Milliseconds that an opening waits for another process: one that is suspended must not hold it up for good.
  private static let patience = 10_000

  private let folder: File

  /// nil: another process has it, or did not end in time.
  init?(_ path: String, waits: Bool) throws(SystemError) {
    let folder = try File(path, flags: O_RDONLY | O_DIRECTORY)
    var rest = waits ? Self.patience : 0
    while try !folder.tryLock() {
      if rest == 0 { return nil }
      rest -= 1
      usleep(1_000)
    }
    self.folder = folder
  }

  consuming func end() {}
}
