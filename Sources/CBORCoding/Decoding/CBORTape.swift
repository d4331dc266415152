/// A scan's result for an array or a map.
struct CBORTapeEntry: BitwiseCopyable {
  var end: UInt32
  /// The entry of the next array or map outside this one.
  var next: UInt32
  /// Elements, or pairs of a key and a value.
  var count: UInt32
  /// Whether this is a map with keys in deterministic order and shortest form, so that all are distinct.
  var isSorted: Bool
}

/// A document's arrays and maps in order, to skip each in one step.
typealias CBORTape = CBORStack<CBORTapeEntry>

/// A data item's offset in the input, and the next tape index.
struct CBORPosition: BitwiseCopyable {
  var offset: UInt32
  var tape: UInt32

  static let start = CBORPosition(offset: 0, tape: 0)
  /// The position of a missing value, read as null.
  static let absent = CBORPosition(offset: .max, tape: .max)

  @inline(__always) var isAbsent: Bool { offset == .max }
}
