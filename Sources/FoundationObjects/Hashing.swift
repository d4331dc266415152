#if !canImport(Darwin)
  package import Foundation

  /// Whether Foundation on Linux supports objects of a class as dictionary keys or set elements.
  package enum Hashing: Sendable {
    case sound
    /// Yes, but comparing the dictionary or set with another one ends the process.
    case fragile
    /// No: equal objects have different hashes.
    case broken
    /// No: computing the hash ends the process.
    case fatal

    /// The value for a class, from its nearest Foundation superclass.
    package static func of(_ type: AnyClass) -> Hashing {
      var next: AnyClass? = type
      while let ancestor = next, ancestor != NSObject.self {
        if let known = exceptions[ObjectIdentifier(ancestor)] { return known }
        next = _getSuperclass(ancestor)
      }
      return .sound
    }

    private static let exceptions: [ObjectIdentifier: Hashing] = {
      var exceptions: [ObjectIdentifier: Hashing] = [:]
      let fatal: [AnyClass] = [NSDecimalNumber.self, NSError.self]
      let broken: [AnyClass] = [NSMeasurement.self, Unit.self]
      let fragile: [AnyClass] = [
        NSArray.self, NSDictionary.self, NSDateInterval.self, NSURLQueryItem.self, NSPersonNameComponents.self,
      ]
      for type in fatal { exceptions[ObjectIdentifier(type)] = .fatal }
      for type in broken { exceptions[ObjectIdentifier(type)] = .broken }
      for type in fragile { exceptions[ObjectIdentifier(type)] = .fragile }
      return exceptions
    }()
  }

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

    package init(count: Int) {
      isFew = count <= Self.few
      if !isFew { elements.reserveCapacity(count) }
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

  /// The remaining budget for reading an archive, so that its length bounds the time.
  ///
  /// A few bytes can refer to the same parts repeatedly, which makes comparing two collections exponentially expensive.
  /// So an element's values are counted once per reference, and the comparisons of a set or dictionary are charged
  /// before Foundation makes them.
  package struct ReadingBudget: Sendable {
    package struct Mark: Sendable {
      @usableFromInline package let work: Int
      @usableFromInline package let fragileCount: Int

      @inlinable package init(work: Int, fragileCount: Int) {
        self.work = work
        self.fragileCount = fragileCount
      }
    }

    /// Values read so far, counting references again each time.
    package var work = 0
    /// Comparisons of elements still allowed.
    package var comparisons: Int
    /// Collections read that Foundation cannot compare, counting references again.
    package var fragileCount = 0

    package init(comparisons: Int) { self.comparisons = comparisons }

    @inlinable @inline(__always)
    package mutating func count(_ amount: Int) {
      let (sum, overflow) = work.addingReportingOverflow(amount)
      work = overflow ? .max : sum
    }

    @inlinable @inline(__always)
    package var mark: Mark { Mark(work: work, fragileCount: fragileCount) }

    /// Values read since the mark.
    package func weight(since mark: Mark) -> Int { work == .max ? .max : work - mark.work }

    /// Whether Foundation cannot compare some of them.
    package func isFragile(since mark: Mark) -> Bool { fragileCount != mark.fragileCount }

    /// Counts a reference to a value that was read before.
    package mutating func countAgain(weight: Int, isFragile: Bool) {
      count(weight)
      if isFragile { fragileCount &+= 1 }
    }

    /// Charges comparisons. Returns `false` if the budget is exceeded.
    package mutating func charge(_ amount: Int) -> Bool {
      guard amount <= comparisons else { return false }
      comparisons -= amount
      return true
    }

    /// Adds an element read since `mark`. Returns `false` if Foundation cannot compare it.
    package func add(
      _ object: NSObject, _ hashing: Hashing, since mark: Mark, to elements: inout HashedElements
    ) -> Bool {
      guard hashing != .broken, hashing != .fatal, !isFragile(since: mark) else { return false }
      if hashing == .fragile { elements.isFragile = true }
      elements.add(object, weight: weight(since: mark))
      return true
    }

    /// Charges the comparisons of the elements. Returns `false` if the budget is exceeded.
    package mutating func charge(_ elements: consuming HashedElements) -> Bool {
      guard charge(elements.comparisons) else { return false }
      if elements.isFragile { fragileCount &+= 1 }
      return true
    }
  }
#endif
