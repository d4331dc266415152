import Foundation

/// What a kill leaves in a directory.
enum KillTraces {
  /// Whether the process that held LMDB's writer mutex died in it, and nobody has taken it since: the kernel marks the
  /// mutex, the first word of the second cache line of `lock.mdb` (LMDB 0.9 on 64-bit Linux). Only while this process
  /// does not have the environment open: closing the file drops its locks.
  static func isWriterMutexAbandoned(_ directory: String) -> Bool {
    guard let file = FileHandle(forReadingAtPath: directory + "/lock.mdb"),
      let bytes = try? file.read(upToCount: 68), bytes.count == 68
    else { return false }
    let word = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 64, as: UInt32.self) }
    return word & 0x4000_0000 != 0
  }

  static func journals(_ directory: String) -> Int { names(directory + "/journals").count }

  static func segments(_ directory: String) -> Int { names(directory + "/values").count }

  private static func names(_ path: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
  }
}
