import CPlatform

/// A thread's stack bounds, to limit recursion whose depth the input decides.
package struct ThreadStack: BitwiseCopyable, Sendable {
  private let lowest: UInt
  /// The space below this address is reserved for reporting the exhaustion.
  private let limit: UInt

  /// The calling thread's stack; `nil` if unknown.
  ///
  /// Takes microseconds, and longer on the main thread on Linux.
  package static func current() -> ThreadStack? {
    var lowest: UInt = 0
    var size = 0
    guard cplatform_stack(&lowest, &size) == 0 else { return nil }
    return ThreadStack(lowest: lowest, limit: lowest + UInt(min(128 << 10, size / 4)))
  }

  /// Whether recursion should stop. `false` on any other stack.
  @inline(never)
  package var isNearlyUsedUp: Bool {
    let here = cplatform_stack_position()
    return here >= lowest && here < limit
  }
}
