import Synchronization

/// Things that are kept for the next who needs one, since making them costs more than what they are needed for.
///
/// One is handed to one caller at a time.
struct CBORSpares<Element>: ~Copyable, Sendable {
  // Sendable: an element is not used while it is in here, and only one caller takes it out.
  private struct Spare: @unchecked Sendable {
    let element: Element
  }

  private let spares = Mutex<[Spare]>([])
  private let limit: Int

  /// - Parameter limit: The most that are kept: as many as are likely to be needed at the same time.
  init(limit: Int = .max) { self.limit = limit }

  @inline(__always)
  func take() -> Element? { spares.withLock { spares in spares.popLast() }?.element }

  @inline(__always)
  func put(_ element: Element) {
    let spare = Spare(element: element)
    spares.withLock { spares in
      if spares.count < limit { spares.append(spare) }
    }
  }
}
