#if !canImport(Darwin)
  import Foundation

  /// The elements of Foundation's collections.
  ///
  /// On Linux, accessing elements of an array or a set bridges them to Swift values: a mutable array becomes an
  /// `Array`, a URL loses its base, and identity is lost. Only reflection returns the objects, and it is faster. (It
  /// fails for ordered sets, whose mutable elements come back immutable.)
  enum FoundationElements {
    static func elements(of array: NSArray) -> [Any] {
      guard type(of: array) == NSArray.self || type(of: array) == NSMutableArray.self else {
        return (0..<array.count).map { array.object(at: $0) }
      }
      return reflected(array, count: array.count) ?? (0..<array.count).map { array.object(at: $0) }
    }

    static func elements(of set: NSSet) -> [Any] {
      let type = type(of: set)
      if type == NSSet.self || type == NSMutableSet.self || type == NSCountedSet.self,
        let elements = reflected(set, count: set.count)
      {
        return elements
      }
      var elements: [Any] = []
      elements.reserveCapacity(set.count)
      set.enumerateObjects { element, _ in elements.append(element) }
      return elements
    }

    static func elements(of set: NSOrderedSet) -> [Any] { (0..<set.count).map { set.object(at: $0) } }

    /// Returns `nil` if reflection shows something else.
    private static func reflected(_ collection: NSObject, count: Int) -> [Any]? {
      var elements: [Any] = []
      elements.reserveCapacity(count)
      for child in Mirror(reflecting: collection).children {
        guard child.label == nil else { return nil }
        elements.append(child.value)
      }
      return elements.count == count ? elements : nil
    }
  }
#endif
