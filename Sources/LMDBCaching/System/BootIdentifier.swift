import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Tells one run of the operating system from another.
package struct BootIdentifier: Equatable, Sendable {
  /// The high and low halves; both 0 where the system tells nothing.
  let high: UInt64
  let low: UInt64

  static var current: BootIdentifier { simulated.withLock { $0 } ?? system }

  private static let simulated = Mutex<BootIdentifier?>(nil)

  /// Makes this process take the system for another run of it, from the next opening of a cache on. For tests only:
  /// of what is found after a power cut.
  package static func simulate(boot: UInt64) { simulated.withLock { $0 = BootIdentifier(high: boot, low: boot) } }

  private static let system: BootIdentifier = {
    #if os(Linux)
      // 8-4-4-4-12 hexadecimal digits.
      var digits: [UInt8] = []
      if let file = try? File("/proc/sys/kernel/random/boot_id", flags: O_RDONLY) {  // Without it: unknown.
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
          let count = Glibc.read(file.descriptor, buffer.baseAddress!, 36)
          digits = buffer[..<max(0, count)].filter { $0 != UInt8(ascii: "-") }
        }
      }
      let text = String(decoding: digits, as: UTF8.self)
      return BootIdentifier(
        high: UInt64(text.prefix(16), radix: 16) ?? 0, low: UInt64(text.dropFirst(16), radix: 16) ?? 0)
    #else
      var time = timeval()
      var size = MemoryLayout<timeval>.size
      if sysctlbyname("kern.boottime", &time, &size, nil, 0) != 0 { return BootIdentifier(high: 0, low: 0) }
      return BootIdentifier(high: UInt64(time.tv_sec), low: UInt64(time.tv_usec))
    #endif
  }()
}
