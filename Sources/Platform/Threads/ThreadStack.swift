import CPlatform

/// Where the stack of a thread is, for recursion whose depth somebody else decides.
package struct ThreadStack: BitwiseCopyable, Sendable {
  private let lowest: UInt
  /// Below this address the rest is for those who report that there is no more.
  private let limit: UInt

  /// The stack of the thread that asks; `nil` if the system does not tell.
  ///
  /// This takes microseconds, and more for the main thread of a Linux process.
  package static func current() -> ThreadStack? {
    var lowest: UInt = 0
    var size = 0
    guard cplatform_stack(&lowest, &size) == 0 else { return nil }
    return ThreadStack(lowest: lowest, limit: lowest + UInt(min(128 << 10, size / 4)))
  }

  /// Whether the caller should not go deeper. `false` on any other stack than this one.
  @inline(never)
  package var isNearlyUsedUp: Bool {
    let here = cplatform_stack_position()
    return here >= lowest && here < limit
  }
}
