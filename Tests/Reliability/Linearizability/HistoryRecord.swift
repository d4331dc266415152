/// One operation of a history: who did what to which key, when it began and when it had returned.
package struct HistoryRecord: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    case set
    case remove
    case read
    /// A read and a write as one: it found `previous`.
    case update
    /// A write where nothing is; with the value 0 it was refused, since something was there.
    case put
    /// A removal that returns what it found; 0: nothing.
    case take
  }

  /// Nanoseconds of the monotonic clock that all processes share.
  package var start: Int64
  package var end: Int64
  /// The value that was written or found; no two writes have the same. 0: none.
  package var value: UInt64
  /// What an update found; 0: nothing.
  package var previous: UInt64
  package var key: UInt16
  package var kind: Kind
  package var process: UInt8
  package var thread: UInt8
  /// A write that had been committed when it returned.
  package var isCommitted: Bool
  /// Not 0: with another record of this number and thread it is one atomic batch, or one snapshot.
  package var group: UInt32

  package init(
    _ kind: Kind, key: Int, value: UInt64 = 0, previous: UInt64 = 0, process: Int, thread: Int = 0, start: Int64,
    end: Int64, isCommitted: Bool = false, group: UInt32 = 0
  ) {
    self.previous = previous
    self.start = start
    self.end = end
    self.value = value
    self.key = UInt16(key)
    self.kind = kind
    self.process = UInt8(process)
    self.thread = UInt8(thread)
    self.isCommitted = isCommitted
    self.group = group
  }
}
