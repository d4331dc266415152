import CXXHash
import LMDB

/// What the processes that have a cache open have in common, in the file of their lock.
struct ProcessRecord: Equatable {
  static let size = 56
  private static let magic: UInt64 = 0x3152_5043_4244_4D4C  // "LMDBCPR1"

  /// The PID namespace of all of them; 0: not known.
  var namespace: UInt64
  /// The pair of files that LMDB's state in the lock file belongs to: see ``DiskStore/dissolveMismatchedPair``.
  var files: EnvironmentFiles

  init(namespace: UInt64, files: EnvironmentFiles) {
    self.namespace = namespace
    self.files = files
  }

  init?(_ bytes: [UInt8]) {
    let words = stride(from: 0, to: bytes.count - 7, by: 8).map { offset in
      bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }
    guard words.count == Self.size / 8, words[0] == Self.magic, words[6] == Self.check(bytes) else { return nil }
    namespace = words[1]
    let lockFile = FileIdentity(device: words[4], inode: words[5])
    files = EnvironmentFiles(
      data: FileIdentity(device: words[2], inode: words[3]), lockFile: lockFile.inode == 0 ? nil : lockFile)
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    func append(_ word: UInt64) { withUnsafeBytes(of: word.littleEndian) { bytes += $0 } }
    append(Self.magic)
    append(namespace)
    append(files.data.device)
    append(files.data.inode)
    append(files.lockFile?.device ?? 0)
    append(files.lockFile?.inode ?? 0)
    append(Self.check(bytes))
    return bytes
  }

  private static func check(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { cxxhash_64($0.baseAddress!, 48, 0) }
  }
}
