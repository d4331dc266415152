#if !canImport(Darwin)
  package import Foundation

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
