#if !canImport(Darwin)
  import Foundation

  /// The classes that may be decoded now; subclasses of them may be too.
  struct AllowedClasses {
    private let first: AnyClass?
    private let others: [AnyClass]

    static let none = AllowedClasses([])

    init(_ classes: [AnyClass]) {
      first = nil
      others = classes
    }

    /// One class, the usual case, without an array.
    @inline(__always)
    init(_ one: AnyClass) {
      first = one
      others = []
    }

    var all: [AnyClass] { first.map { [$0] + others } ?? others }

    func contains(_ type: AnyClass) -> Bool {
      var next: AnyClass? = type
      while let ancestor = next {
        if ancestor == first || others.contains(where: { $0 == ancestor }) { return true }
        next = _getSuperclass(ancestor)
      }
      return false
    }
  }
#endif
