import Synchronization

/// A pool of reusable elements that cost more to create than to use. Lends each to one caller at a time.
struct CBORSpares<Element>: ~Copyable, Sendable {
  // Sendable: an element in the pool is unused, and only one caller takes it out.
  private struct Spare: @unchecked Sendable {
    let element: Element
  }

  private let spares = Mutex<[Spare]>([])
  private let limit: Int

  /// - Parameter limit: The most elements to keep.
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
