package struct HistoryRecord: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    case set
    case remove
    case read
    /// An atomic read and write, which found `previous`.
    case update
    /// A write to an empty key; value 0 means it was refused.
    case put
    /// A removal that returns the removed value; 0 means nothing.
    case take
  }

  /// Nanoseconds of the monotonic clock that all processes share.
  package var start: Int64
  package var end: Int64
  /// The value written or found, unique for each write; 0 means none.
  package var value: UInt64
  /// The value an update found; 0 means none.
  package var previous: UInt64
  package var key: UInt16
  package var kind: Kind
  package var process: UInt8
  package var thread: UInt8
  /// Whether the write was committed when it returned.
  package var isCommitted: Bool
  /// If not 0, records with this number and thread form one batch or snapshot.
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
