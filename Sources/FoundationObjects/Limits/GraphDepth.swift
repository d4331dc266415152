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
