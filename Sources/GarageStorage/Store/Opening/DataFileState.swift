import LMDB
import Platform

/// Identifies a garage's data file and its state, to detect writes.
struct DataFileState: Equatable {
  static let count = 6
  private static let metaLength = 256

  /// Device, inode, size, modification and change times in nanoseconds, and a digest of both meta pages, which hold the
  /// last transaction's number.
  let words: [UInt64]

  init(words: [UInt64]) { self.words = words }

  /// Returns `nil` if the file is missing or too short for a database.
  init?(in directory: Directory) throws(SystemError) {
    guard let file = try DataFileSnapshot(of: directory, metaLength: Self.metaLength) else { return nil }
    let (status, meta) = (file.status, file.metaPages)
    words = [
      status.identity.device, status.identity.inode, UInt64(status.size),
      // Both times, because the first can be set freely.
      UInt64(bitPattern: status.modified), UInt64(bitPattern: status.changed),
      ContentDigest.word(of: meta.first + meta.second),
    ]
  }
}
