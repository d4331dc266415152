import Platform

/// Limits how deep values nest: by a number, and by what the thread's stack holds.
///
/// The number alone would be no guard. How much of the stack a value takes is up to its type and to the compiler: in
/// an unoptimized build five hundred values within each other take more than the 512 KiB that a thread may have.
package struct Nesting: BitwiseCopyable, Sendable {
  package enum Failure: Sendable { case tooDeep, stackUsedUp }

  package var maximumDepth: Int
  private var stack: ThreadStack?
  private var isStackKnown = false

  package init(maximumDepth: Int) { self.maximumDepth = maximumDepth }

  /// So few values are not looked at: asking for the stack takes longer than coding them.
  @usableFromInline package static var shallow: Int { 16 }

  /// Returns why there may be no value at this depth, or `nil` if there may be one.
  @inlinable @inline(__always)
  package mutating func check(_ depth: Int) -> Failure? {
    depth <= Self.shallow && depth <= maximumDepth ? nil : checkDeep(depth)
  }

  @inline(never)
  @usableFromInline package mutating func checkDeep(_ depth: Int) -> Failure? {
    if depth > maximumDepth { return .tooDeep }
    if !isStackKnown {
      stack = ThreadStack.current()
      isStackKnown = true
    }
    return stack?.isNearlyUsedUp == true ? .stackUsedUp : nil
  }

  package func description(_ failure: Failure) -> String {
    switch failure {
    case .tooDeep: "Values nest deeper than \(maximumDepth)"
    case .stackUsedUp: "Values nest deeper than the stack of this thread holds"
    }
  }
}
