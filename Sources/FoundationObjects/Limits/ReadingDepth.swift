/// How deep objects are in one another while an archive is read, also by way of references to what was read before.
///
/// Reading goes down one level at a time, which ``Nesting`` limits. A reference goes down as far as what it refers to, at
/// once: so an archive of a few bytes for each level can make a chain of any length, and releasing one takes stack for each
/// level.
package struct ReadingDepth: Sendable {
  /// How many levels there may be. Foundation's collections, one in the other, take a stack of 8 MiB at about three times as
  /// many.
  package static let maximum = 20_000

  /// Of what is being read now.
  @usableFromInline package var current = 0
  /// The greatest in the shared object that is being read, what it refers to included.
  @usableFromInline package var deepest = 0

  package init() {}

  @inlinable @inline(__always)
  package mutating func enter() {
    current &+= 1
    if current > deepest { deepest = current }
  }

  @inlinable @inline(__always)
  package mutating func leave() { current &-= 1 }

  /// Where the reading of a shared object began.
  package struct Mark: Sendable {
    fileprivate let current: Int
    fileprivate let deepest: Int
  }

  /// Begins a shared object.
  package mutating func begin() -> Mark {
    let mark = Mark(current: current, deepest: deepest)
    deepest = current
    return mark
  }

  /// Ends it. Returns how many levels are in it.
  package mutating func end(_ mark: Mark) -> Int {
    let levels = deepest - mark.current
    deepest = max(deepest, mark.deepest)
    return levels
  }

  /// Notes a reference to an object with so many levels in it. Returns `false` if that is too deep.
  package mutating func refer(levels: Int) -> Bool {
    deepest = max(deepest, current + levels)
    return current + levels <= Self.maximum
  }
}
