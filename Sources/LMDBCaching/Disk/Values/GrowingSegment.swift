import Platform
import Synchronization

/// A segment that this process appends to, or has appended to: see ``ValueLog``. It is locked as long as this object
/// lives.
// Sendable: `owner`, `tail`, `allocated` and `boundary` are touched with the log's lock held only, `isSuspect` by who
// synchronizes; the rest is atomic or constant.
final class GrowingSegment: @unchecked Sendable {
  /// How many values were appended whose records are in no journal yet.
  final class Holds: Sendable {
    let count = Atomic<Int>(0)
  }

  let identifier: UInt64
  /// The journal that the records of its values are written to.
  var owner: UInt64
  let lock: FileLock
  let holds: Holds
  /// How many values are being written.
  let writers = Atomic<Int>(0)
  /// Whether something was written that is not synchronized.
  let isDirty = Atomic<Bool>(false)

  /// Whether the device failed to synchronize it: the system may take what it has in memory for what is on the disk.
  var isSuspect = false

  /// Where the next entry begins.
  var tail: Int
  /// Up to where the file has its blocks, as far as it is known.
  var allocated: Int
  /// The number of the journal's segment that has the last record, once nothing is appended any more.
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

/// A value in the log whose record is to be written.
struct AppendedValue {
  let pointer: ValuePointer
  fileprivate let holds: GrowingSegment.Holds

  init(_ pointer: ValuePointer, in segment: GrowingSegment) {
    self.pointer = pointer
    holds = segment.holds
  }

  /// The record is in the journal, or in the database, or will never be.
  func end() { holds.count.subtract(1, ordering: .releasing) }
}
