#if !canImport(Darwin)
  /// The classes that may be decoded now, including their subclasses.
  package struct AllowedClasses: Sendable {
    @usableFromInline let first: AnyClass?
    @usableFromInline let others: [AnyClass]

    package static let none = AllowedClasses([])

    package init(_ classes: [AnyClass]) {
      first = nil
      others = classes
    }

    /// A single class, the common case, without an array.
    @inlinable @inline(__always)
    package init(_ one: AnyClass) {
      first = one
      others = []
    }

    package var all: [AnyClass] { first.map { [$0] + others } ?? others }

    package func contains(_ type: AnyClass) -> Bool {
      var next: AnyClass? = type
      while let ancestor = next {
        if ancestor == first || others.contains(where: { $0 == ancestor }) { return true }
        next = _getSuperclass(ancestor)
      }
      return false
    }
  }
#endif
