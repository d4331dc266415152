#if !canImport(Darwin)
  package import Foundation

  /// What reading an archive may still cost, so that the time it takes is bounded by the archive's length.
  ///
  /// An archive of a few bytes can refer to the same parts again and again. To compare two collections takes as long as
  /// they are large, and where parts are shared exponentially longer. So the values that an element is made of are
  /// counted, each as often as it is referred to, and the comparisons that a set or a dictionary may need are charged
  /// before Foundation makes them.
  package struct ReadingBudget: Sendable {
    /// A point in reading, to say what came after it.
    package struct Mark: Sendable {
      @usableFromInline package let work: Int
      @usableFromInline package let fragileCount: Int

      @inlinable package init(work: Int, fragileCount: Int) {
        self.work = work
        self.fragileCount = fragileCount
      }
    }

    /// Values read so far, those that were referred to counted again each time.
    package var work = 0
    /// How many comparisons of elements may still be made.
    package var comparisons: Int
    /// How many collections were read that Foundation cannot compare, counted again when they are referred to.
    package var fragileCount = 0

    package init(comparisons: Int) { self.comparisons = comparisons }

    /// Counts values that were read.
    @inlinable @inline(__always)
    package mutating func count(_ amount: Int) {
      let (sum, overflow) = work.addingReportingOverflow(amount)
      work = overflow ? .max : sum
    }

    @inlinable @inline(__always)
    package var mark: Mark { Mark(work: work, fragileCount: fragileCount) }

    /// Returns how many values were read since then.
    package func weight(since mark: Mark) -> Int { work == .max ? .max : work - mark.work }

    /// Returns whether there is something among them that Foundation cannot compare.
    package func isFragile(since mark: Mark) -> Bool { fragileCount != mark.fragileCount }

    /// Counts a value that was read before, and is referred to again.
    package mutating func countAgain(weight: Int, isFragile: Bool) {
      count(weight)
      if isFragile { fragileCount &+= 1 }
    }

    /// Takes from the comparisons that are left. Returns `false` if there are not as many.
    package mutating func charge(_ amount: Int) -> Bool {
      guard amount <= comparisons else { return false }
      comparisons -= amount
      return true
    }

    /// Adds an element that was read since `mark`. Returns `false` if Foundation cannot compare it.
    package func add(
      _ object: NSObject, _ hashing: Hashing, since mark: Mark, to elements: inout HashedElements
    ) -> Bool {
      guard hashing != .broken, hashing != .fatal, !isFragile(since: mark) else { return false }
      if hashing == .fragile { elements.isFragile = true }
      elements.add(object, weight: weight(since: mark))
      return true
    }

    /// Charges what it takes to tell the elements apart. Returns `false` if that is more than is left.
    package mutating func charge(_ elements: consuming HashedElements) -> Bool {
      guard charge(elements.comparisons) else { return false }
      if elements.isFragile { fragileCount &+= 1 }
      return true
    }
  }
#endif
