/// What a scan found out about an array or a map.
struct CBORTapeEntry: BitwiseCopyable {
  /// Where in the input the array or map ends.
  var end: UInt32
  /// The entry of the next array or map that is not within this one.
  var next: UInt32
  /// How many elements, or pairs of a key and a value.
  var count: UInt32
  /// Whether this is a map whose keys are in the order of deterministic encoding, each in its shortest form: no two
  /// are the same.
  var isSorted: Bool
}

/// The arrays and maps of a document in the order in which they begin, so that all of one can be jumped over.
typealias CBORTape = CBORStack<CBORTapeEntry>

/// Where a data item begins: in the input, and which entry of the tape is the next.
struct CBORPosition: BitwiseCopyable {
  var offset: UInt32
  var tape: UInt32

  static let start = CBORPosition(offset: 0, tape: 0)
  /// Of a value that is not there, and is read as null.
  static let absent = CBORPosition(offset: .max, tape: .max)

  @inline(__always) var isAbsent: Bool { offset == .max }
}
