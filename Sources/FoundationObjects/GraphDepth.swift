import Platform

/// The nesting depth of objects while an archive is written or read, including references to earlier objects.
///
/// ``Nesting`` limits direct nesting, one level at a time. A reference adds the whole depth of its object at once: a
/// few bytes per level can form a chain of any length, and releasing it takes stack for each level.
package struct GraphDepth: Sendable {
  /// The depth limit. In an optimized build an 8 MiB stack could release arrays nested 30,000 deep, but not 60,000.
  package static let maximum = 20_000

  @usableFromInline package var current = 0
  /// The greatest depth in the current object, including references.
  @usableFromInline package var deepest = 0

  package init() {}

  @inlinable @inline(__always)
  package mutating func enter() {
    current &+= 1
    if current > deepest { deepest = current }
  }

  @inlinable @inline(__always)
  package mutating func leave() { current &-= 1 }

  /// Begins an object that can be referred to. Returns the argument for ``end(_:)``.
  @inlinable @inline(__always)
  package mutating func begin() -> Int {
    defer { deepest = current }
    return deepest
  }

  /// Ends an object at the level where it began. Returns the levels inside it.
  @inlinable @inline(__always)
  package mutating func end(_ outer: Int) -> Int {
    let levels = deepest &- current
    if outer > deepest { deepest = outer }
    return levels
  }

  /// Records a reference to an object with `levels` inside it. Returns `false` if that is too deep.
  @inlinable @inline(__always)
  package mutating func refer(levels: Int) -> Bool {
    deepest = max(deepest, current &+ levels)
    return current &+ levels <= Self.maximum
  }
}

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
