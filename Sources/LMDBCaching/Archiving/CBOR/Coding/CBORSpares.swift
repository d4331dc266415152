import Synchronization

/// Objects that are kept for the next who needs one, since making them costs more than what they are needed for.
///
/// An object is handed to one caller at a time, and is taken back only if nobody else holds it.
struct CBORSpares<Object: AnyObject>: ~Copyable, Sendable {
  // Sendable: an object is not used while it is in here, and only one caller takes it out.
  private struct Spare: @unchecked Sendable {
    let object: Object
  }

  private let spares = Mutex<[Spare]>([])
  private let limit: Int

  /// - Parameter limit: The most that are kept: as many as are likely to be needed at the same time.
  init(limit: Int) { self.limit = limit }

  @inline(__always)
  func take() -> Object? { spares.withLock { spares in spares.popLast() }?.object }

  @inline(__always)
  func put(_ object: inout Object) {
    guard isKnownUniquelyReferenced(&object) else { return }
    let spare = Spare(object: object)
    spares.withLock { spares in
      if spares.count < limit { spares.append(spare) }
    }
  }
}
