import Foundation

/// Reads hostile inputs in a child process, which one of them may crash: `role hostile-reader KIND SEED FIRST COUNT`.
///
/// Prints its position now and then, and the number of accepted inputs at the end. An input that takes too much time or
/// memory prints a line that begins with `FAILED`.
enum HostileReader: TrialRole {
  static let name = "hostile-reader"

  static let step = 250
  /// Processor time for one input, generous enough for a debug build on any machine.
  static let mostSeconds = 2.0
  /// How much one input may add to the process's peak memory, in KiB.
  static let mostMemory = 48 << 10

  static func run(_ arguments: [String]) throws {
    guard arguments.count == 4, let kind = UntrustedKind(rawValue: arguments[0]), let seed = UInt64(arguments[1]),
      let first = Int(arguments[2]), let count = Int(arguments[3])
    else { return answer("FAILED no such input") }
    let inputs = try HostileInputs(kind, seed: seed)
    // Create one-time state before measuring.
    for bytes in try kind.seeds() { bytes.withUnsafeBytes { _ = kind.check($0) } }
    var read = 0
    var peak = peakMemory()
    for number in first..<first + count {
      if number % step == 0 { answer("at \(number)") }
      let bytes = inputs[number]
      let start = processorTime()
      if bytes.withUnsafeBytes({ kind.check($0) }) { read += 1 }
      let seconds = processorTime() - start
      if seconds > mostSeconds { answer("FAILED input \(number): \(seconds) s for \(bytes.count) bytes") }
      let now = peakMemory()
      if now - peak > mostMemory { answer("FAILED input \(number): \(now - peak) KiB for \(bytes.count) bytes") }
      peak = max(peak, now)
    }
    answer("read \(read)")
  }

  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// In KiB.
  private static func peakMemory() -> Int {
    var usage = rusage()
    #if canImport(Darwin)
      getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss >> 10
    #else
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      return usage.ru_maxrss
    #endif
  }
}
