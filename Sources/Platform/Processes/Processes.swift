import Observation
import Synchronization

/// Identifies one run of the operating system. Both halves are 0 if unknown.
package struct BootIdentifier: Hashable, Sendable {
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
      if unsafe sysctlbyname("kern.boottime", &time, &size, nil, 0) != 0 { return unknown }
      return BootIdentifier(high: UInt64(bitPattern: Int64(time.tv_sec)), low: UInt64(bitPattern: Int64(time.tv_usec)))
    #endif
  }()

  static func parse(_ text: [UInt8]) -> BootIdentifier? {
    let digits = String(decoding: text, as: UTF8.self).filter { $0 != "-" && !$0.isWhitespace }
    guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
      let low = UInt64(digits.suffix(16), radix: 16)
    else { return nil }
    return BootIdentifier(high: high, low: low)
  }
}

/// The processes that this one can see. LMDB identifies processes by their id, which can be two processes in two
/// namespaces (containers).
package enum ProcessNamespace {
  /// This process's PID namespace; 0 if unknown or if there is only one.
  package static let current: UInt64 = {
    #if os(Linux)
      // pid_namespaces(7): processes share a namespace if this is the same file.
      if let status = FileStatus(ofPath: "/proc/self/ns/pid") { return status.identity.inode }
    #endif
    return 0
  }()
}

/// A count of changes that Observation tracks. Readers of changing state read ``present`` first.
///
/// Observation watches a reader only after its tracked closure has ended. So each change is announced again at growing
/// intervals; each reader is in the slot of the moment it read, and repetitions go to the other slots only. Slots are
/// reused in turn.
///
/// Threads: any; only one at a time calls ``advance()``.
package final class ObservedMoment: Observable, Sendable {
  /// The minimum pause between two announced changes, for callers of ``advance()``, so that constant changes do not
  /// keep trackers busy; and the pause before the first repetition.
  package static let pause: Duration = .milliseconds(10)
  /// Pauses between repetitions double up to this limit.
  private static let longestPause: Duration = .seconds(3_600)
  private static let slotCount = 64

  private let registrar = ObservationRegistrar()
  private let changes = Atomic<Int>(0)
  private let retelling = Mutex<Task<Void, Never>?>(nil)

  package init() {}

  deinit { retelling.withLock { $0?.cancel() } }

  /// The number of changes. Reading it registers with Observation.
  package var present: Int {
    let moment = changes.load(ordering: .acquiring)
    let slot = moment % Self.slotCount
    registrar.access(self, keyPath: \ObservedMoment.[slot])
    return moment
  }

  package func advance() {
    let moment = changes.load(ordering: .relaxed)
    // Notify readers left from an earlier turn before new readers join the slot.
    tell((moment + 1) % Self.slotCount)
    changes.store(moment + 1, ordering: .releasing)
    tell(moment % Self.slotCount)
    let task = Task { [weak self] in
      var pause = Self.pause
      while true {
        do { try await Task.sleep(for: pause) } catch { return }
        guard self?.tellAgain() != nil else { return }
        pause = min(pause * 2, Self.longestPause)
      }
    }
    retelling.withLock { retelling in
      retelling?.cancel()
      retelling = task
    }
  }

  private func tellAgain() {
    let moment = changes.load(ordering: .acquiring)
    for earlier in max(0, moment + 1 - Self.slotCount)..<moment { tell(earlier % Self.slotCount) }
  }

  /// The key path under which Observation tracks the readers of a moment.
  private subscript(slot: Int) -> Int { slot }

  private func tell(_ slot: Int) { registrar.withMutation(of: self, keyPath: \ObservedMoment.[slot]) {} }
}
