#if !canImport(Darwin)
  import Foundation

  /// Elements of a future set or keys of a dictionary, to count the comparisons needed to tell them apart.
  ///
  /// Foundation's hashes are not seeded, and a collection's hash is its count, so forged bytes could keep a process
  /// busy for years.
  package struct HashedElements {
    private static let few = 8

    /// Whether Foundation cannot compare the collection, see ``Hashing/fragile``.
    package internal(set) var isFragile = false

    private var elements: ContiguousArray<(object: NSObject, weight: Int)> = []
    private let isFew: Bool
    private var count = 0
    private var weight = 0

    package init(count: Int? = nil) {
      isFew = count.map { $0 <= Self.few } ?? false
      if !isFew, let count { elements.reserveCapacity(count) }
    }

    mutating func add(_ object: NSObject, weight elementWeight: Int) {
      count &+= 1
      weight = Self.sum(weight, elementWeight)
      if !isFew { elements.append((object, elementWeight)) }
    }

    /// The maximum number of values to compare.
    var comparisons: Int {
      // For few elements assume that all are equal: computing hashes costs time, too.
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
