#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The journal of a process that is gone, locked by this one and read into memory.
struct OrphanedJournal: ~Copyable {
  /// Larger than any journal that can be configured: what is larger was not made by this package.
  private static let maximumSize = (1 << 30) + JournalFile.headerSize

  private let file: File
  private let contents: UnsafeMutableRawBufferPointer
  let identifier: UInt64
  /// Oldest first; valid as long as this value lives.
  let runs: [JournalRun]

  /// nil: the journal's owner lives, or another process is at it, or it is gone.
  init?(path: String) throws(SystemError) {
    let file: File
    do throws(SystemError) {
      file = try File(path, flags: O_RDWR)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
    guard try file.tryLock(), try file.isStillAtItsPath() else { return nil }
    let size = Int(try file.status().st_size)
    let contents = UnsafeMutableRawBufferPointer.allocate(
      byteCount: size <= Self.maximumSize ? size : 0, alignment: 64)
    var identifier: UInt64 = 0
    var runs: [JournalRun] = []
    do throws(SystemError) {
      if try file.read(contents), let found = JournalFile.runs(in: UnsafeRawBufferPointer(contents)) {
        (identifier, runs) = found
      }
    } catch {
      contents.deallocate()
      throw error
    }
    self.file = file
    self.contents = contents
    self.identifier = identifier
    self.runs = runs
  }

  deinit { contents.deallocate() }

  /// Removes the file, once its frames are in the database.
  consuming func remove() throws(SystemError) { try Directory.removeFile(file.path) }
}
