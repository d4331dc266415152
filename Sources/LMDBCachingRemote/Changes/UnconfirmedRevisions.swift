/// Revisions of what is stored here that the stream of changes has not been read up to: it has to have each of them.
///
/// A server that lost its last writes at a fail-over has other changes in their place. What was fetched or written
/// meanwhile then is of a revision that does not come.
struct UnconfirmedRevisions: Sendable {
  /// More than a machine out of touch is likely to fetch. What does not fit in is taken for lost.
  static let limit = 1 << 16

  /// A heap: nothing is greater than its two children, those of `i` are `2i + 1` and `2i + 2`. The same one may be
  /// there several times.
  private var heap: [RemoteRevision] = []
  private(set) var greatest = RemoteRevision.none
  private var isIncomplete = false

  mutating func insert(_ revision: RemoteRevision) {
    greatest = max(greatest, revision)
    if heap.count >= Self.limit {
      isIncomplete = true
      return
    }
    heap.append(revision)
    var index = heap.count - 1
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// The stream was read up to a change, in order.
  ///
  /// - Returns: Whether none was missing before it.
  mutating func confirm(_ revision: RemoteRevision) -> Bool {
    var isComplete = true
    while let least = heap.first, least <= revision {
      if least != revision { isComplete = false }
      removeFirst()
    }
    if heap.isEmpty, isIncomplete {
      isIncomplete = false
      return false
    }
    return isComplete
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var index = 0
    while 2 * index + 1 < heap.count {
      var child = 2 * index + 1
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      if heap[index] <= heap[child] { return }
      heap.swapAt(index, child)
      index = child
    }
  }
}
