/// How deep objects are in one another while an archive is written or read, also by way of references to what was before.
///
/// Coding goes down one level at a time, which ``Nesting`` limits. A reference goes down as far as what it refers to, at
/// once: so an archive of a few bytes for each level can make a chain of any length, and releasing one takes stack for each
/// level.
package struct GraphDepth: Sendable {
  /// How many levels there may be. In an optimized build a stack of 8 MiB was enough to release arrays that are 30,000 deep in
  /// one another, and not enough for 60,000.
  package static let maximum = 20_000

  /// Of what is being coded now.
  @usableFromInline package var current = 0
  /// The greatest in the object that is being coded, what it refers to included.
  @usableFromInline package var deepest = 0

  package init() {}

  @inlinable @inline(__always)
  package mutating func enter() {
    current &+= 1
    if current > deepest { deepest = current }
  }

  @inlinable @inline(__always)
  package mutating func leave() { current &-= 1 }

  /// Begins an object that may be referred to. Returns what ``end(_:)`` needs to know.
  @inlinable @inline(__always)
  package mutating func begin() -> Int {
    defer { deepest = current }
    return deepest
  }

  /// Ends it, at the level where it began. Returns how many levels are in it.
  @inlinable @inline(__always)
  package mutating func end(_ outer: Int) -> Int {
    let levels = deepest &- current
    if outer > deepest { deepest = outer }
    return levels
  }

  /// Notes a reference to an object with so many levels in it. Returns `false` if that is too deep.
  @inlinable @inline(__always)
  package mutating func refer(levels: Int) -> Bool {
    deepest = max(deepest, current &+ levels)
    return current &+ levels <= Self.maximum
  }
}
