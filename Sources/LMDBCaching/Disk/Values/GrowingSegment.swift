import Platform
import Synchronization

/// A segment of the ``ValueLog`` that this process has appended to, locked for this object's lifetime.
// Sendable: `owner`, `tail`, `allocated` and `boundary` are accessed with the log's lock held, `isSuspect` while
// synchronizing; the rest is atomic or constant.
final class GrowingSegment: @unchecked Sendable {
  /// Counts appended values whose records are in no journal yet.
  final class Holds: Sendable {
    let count = Atomic<Int>(0)
  }

  let identifier: UInt64
  /// The journal of its values' records.
  var owner: UInt64
  let lock: FileLock
  let holds: Holds
  let writers = Atomic<Int>(0)
  let isDirty = Atomic<Bool>(false)

  /// Whether a sync failed, after which the system may treat unwritten pages as written.
  var isSuspect = false

  var tail: Int
  /// The end of the known allocated blocks.
  var allocated: Int
  /// The number of the journal's segment with the last record, once nothing more is appended.
  var boundary: Int?

  init(_ identifier: UInt64, owner: UInt64, _ lock: consuming FileLock, tail: Int, holds: Holds = Holds()) {
    self.identifier = identifier
    self.owner = owner
    self.lock = lock
    self.tail = tail
    self.holds = holds
    allocated = tail
  }
}

/// A value in the log whose record is not written yet.
struct AppendedValue {
  let pointer: ValuePointer
  fileprivate let holds: GrowingSegment.Holds

  init(_ pointer: ValuePointer, in segment: GrowingSegment) {
    self.pointer = pointer
    holds = segment.holds
  }

  /// Call when the record is in the journal or the database, or will never be.
  func end() { holds.count.subtract(1, ordering: .releasing) }
}
