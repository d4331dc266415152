#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A process that holds a `flock` on a file, for the message of who waits for it.
package struct LockHolder: Sendable, CustomStringConvertible {
  package let process: Int32
  /// Whether a signal has suspended it.
  package let isSuspended: Bool

  package var description: String {
    isSuspended
      ? "process \(process), which is suspended: continue it (kill -CONT \(process)) or end it"
      : "process \(process): if it does not go on by itself, end it"
  }

  /// Who holds the exclusive lock; nil: nobody, or it cannot be known. Linux tells, in `/proc/locks`.
  package static func exclusive(device: UInt64, inode: UInt64) -> LockHolder? {
    #if os(Linux)
      // proc(5): "1: FLOCK  ADVISORY  WRITE 1234 08:01:131102 0 EOF"; who waits has "->" in it.
      for line in lines(of: "/proc/locks") {
        let fields = line.split(separator: " ")
        guard fields.count >= 6, fields[1] == "FLOCK", fields[3] == "WRITE", let process = Int32(fields[4]),
          process > 0, fields[5].split(separator: ":").last == "\(inode)"
        else { continue }
        return LockHolder(process: process, isSuspended: isSuspended(process))
      }
    #endif
    return nil
  }

  /// Whether a signal has suspended a process; false where that cannot be known. Linux tells.
  package static func isSuspended(_ process: Int32) -> Bool {
    #if os(Linux)
      return lines(of: "/proc/\(process)/status").contains { $0.hasPrefix("State:\tT") }
    #else
      return false
    #endif
  }

  #if os(Linux)
    private static func lines(of path: String) -> [Substring] {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return [] }
      defer { close(descriptor) }
      var contents: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 16_384)
      while true {
        let count = read(descriptor, &part, part.count)
        guard count > 0 else { break }
        contents += part[..<count]
      }
      return String(decoding: contents, as: UTF8.self).split(separator: "\n")
    }
  #endif
}
