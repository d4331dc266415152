#if !canImport(Darwin)
  import Foundation

  /// Elements of a set to be, or keys of a dictionary: how many comparisons it will take to tell them apart.
  ///
  /// Hashes in Foundation are not seeded, and those of collections are their counts, so bytes that were made up could
  /// keep a process busy for years.
  package struct HashedElements {
    private static let few = 8

    /// Whether Foundation cannot compare the collection, see ``Hashing/fragile``.
    package internal(set) var isFragile = false

    private var elements: ContiguousArray<(object: NSObject, weight: Int)> = []
    private let isFew: Bool
    private var count = 0
    private var weight = 0

    /// - Parameter count: How many there will be, if that is known.
    package init(count: Int? = nil) {
      isFew = count.map { $0 <= Self.few } ?? false
      if !isFew, let count { elements.reserveCapacity(count) }
    }

    /// - Parameter weight: How many values the element is made of.
    mutating func add(_ object: NSObject, weight elementWeight: Int) {
      count &+= 1
      weight = Self.sum(weight, elementWeight)
      if !isFew { elements.append((object, elementWeight)) }
    }

    /// How many values have to be compared at most.
    var comparisons: Int {
      // As if all were equal, as long as that is not many: hashes cost time too.
      if isFew { return count < 2 ? 0 : Self.product(count - 1, weight) }
      var byHash: [Int: (count: Int, weight: Int)] = [:]
      byHash.reserveCapacity(elements.count)
      for (object, weight) in elements {
        let group = byHash[object.hash, default: (0, 0)]
        byHash[object.hash] = (group.count + 1, Self.sum(group.weight, weight))
      }
      return byHash.values.reduce(0) { Self.sum($0, $1.count < 2 ? 0 : Self.product($1.count - 1, $1.weight)) }
    }

    private static func sum(_ first: Int, _ second: Int) -> Int {
      let (sum, overflow) = first.addingReportingOverflow(second)
      return overflow ? .max : sum
    }

    private static func product(_ first: Int, _ second: Int) -> Int {
      let (product, overflow) = first.multipliedReportingOverflow(by: second)
      return overflow ? .max : product
    }
  }
#endif
