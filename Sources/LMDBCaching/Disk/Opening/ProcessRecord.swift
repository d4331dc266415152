import CXXHash
import LMDB
import Platform

/// State shared by the processes that have a cache open, stored in their lock file.
struct ProcessRecord: Equatable {
  static let size = 64
  private static let magic: UInt64 = 0x3152_5043_4244_4D4C  // "LMDBCPR1"
  static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  /// Their PID namespace, or 0 if unknown.
  var namespace: UInt64
  /// The data file and lock file that belong together (``StoreOpening/dissolveMismatchedPair(_:)``).
  var files: EnvironmentFiles
  /// The base of their stamps (``StampClock``), which a recreated database keeps.
  var stampBase: UInt64

  init(namespace: UInt64, files: EnvironmentFiles, stampBase: UInt64) {
    self.namespace = namespace
    self.files = files
    self.stampBase = stampBase
  }

  init?(_ bytes: [UInt8]) {
    let words = stride(from: 0, to: bytes.count - 7, by: 8).map { offset in
      bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }
    guard words.count == Self.size / 8, words[0] == Self.magic, words[7] == Self.check(bytes) else { return nil }
    namespace = words[1]
    stampBase = words[6]
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
    append(stampBase)
    append(Self.check(bytes))
    return bytes
  }

  private static func check(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { cxxhash_64($0.baseAddress!, 56, 0) }
  }
}
