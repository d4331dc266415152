/// A value being encoded, by the requests to its encoder.
struct CBOREncodingFrame: BitwiseCopyable {
  enum Kind: UInt8 {
    /// No container requested yet.
    case none
    case single, unkeyed, keyed
  }

  /// The serial of a refused container; no value has it.
  static let refused = UInt64.max

  /// Unique, so that a container can detect the end of its value. 0 means no value.
  var serial: UInt64
  var path: CBORCodingPath.Reference
  var kind: Kind
  /// Whether all keys so far are in order.
  var isSorted = true
  var holeCount: Int32 = 0
  /// Entries in the buffer's table of names.
  var namedCount: Int32 = 0
  var start: Int
  var count = 0
  /// The index of its first entry.
  var firstEntry: Int
}

/// An entry of a map being encoded. Its value ends where the next entry begins.
struct CBOREncodingEntry: BitwiseCopyable {
  var start: Int
  /// The length of the key's text, without its head.
  var keyLength: Int
  var end: Int
  /// The index of its hole; -1 if the value is in place.
  var hole: Int

  @inline(__always) var keyStart: Int { start &+ CBORWriter.headLength(UInt64(truncatingIfNeeded: keyLength)) }
}
