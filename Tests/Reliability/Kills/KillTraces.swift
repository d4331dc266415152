import Foundation

enum KillTraces {
  /// Whether LMDB's writer died holding its mutex, and no process has taken it since: the kernel marks the mutex, the
  /// first word of the second cache line of `lock.mdb` (LMDB 0.9 on 64-bit Linux). Call only while this process has
  /// the environment closed: closing the file drops its locks.
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
