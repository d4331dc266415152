import Platform

/// Limits nesting by a count and by the thread's remaining stack.
///
/// The count alone is not safe: stack use depends on the type and the compiler. In an unoptimized build 500 nested
/// values take more than a thread's 512 KiB.
package struct Nesting: BitwiseCopyable, Sendable {
  package enum Failure: Sendable { case tooDeep, stackUsedUp }

  package var maximumDepth: Int
  private var stack: ThreadStack?
  private var isStackKnown = false

  package init(maximumDepth: Int) { self.maximumDepth = maximumDepth }

  /// The stack is not checked for lower depths: asking for it takes longer than coding the values.
  @usableFromInline package static var shallow: Int { 16 }

  /// Returns the reason against a value at this depth, or `nil` if it is allowed.
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
