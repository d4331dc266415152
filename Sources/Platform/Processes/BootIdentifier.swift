import Synchronization

/// Identifies one run of the operating system.
package struct BootIdentifier: Hashable, Sendable {
  /// High and low halves; both 0 if unknown.
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static let unknown = BootIdentifier(high: 0, low: 0)

  /// Whether both are known and equal: two unknown ones may differ.
  package func isKnownToBe(_ other: BootIdentifier) -> Bool { self == other && self != .unknown }

  package static var current: BootIdentifier { simulated.withLock { $0 } ?? system }

  private static let simulated = Mutex<BootIdentifier?>(nil)

  /// Simulates another run of the system for caches opened later, as after a power cut. For tests only.
  package static func simulate(boot: UInt64) { simulated.withLock { $0 = BootIdentifier(high: boot, low: boot) } }

  private static let system: BootIdentifier = {
    #if os(Linux)
      do throws(SystemError) {
        guard let folder = try Directory(existing: "/proc/sys/kernel/random"), let file = try folder.open("boot_id")
        else { return unknown }
        return parse(try file.readToEnd(limit: 256)) ?? unknown
      } catch {
        // A container may hide it.
        return unknown
      }
    #else
      var time = timeval()
      var size = MemoryLayout<timeval>.size
      if sysctlbyname("kern.boottime", &time, &size, nil, 0) != 0 { return unknown }
      return BootIdentifier(high: UInt64(bitPattern: Int64(time.tv_sec)), low: UInt64(bitPattern: Int64(time.tv_usec)))
    #endif
  }()

  /// 8-4-4-4-12 hexadecimal digits.
  static func parse(_ text: [UInt8]) -> BootIdentifier? {
    let digits = String(decoding: text, as: UTF8.self).filter { $0 != "-" && !$0.isWhitespace }
    guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
      let low = UInt64(digits.suffix(16), radix: 16)
    else { return nil }
    return BootIdentifier(high: high, low: low)
  }
}
