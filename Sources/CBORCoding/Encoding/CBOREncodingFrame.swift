/// A value that is being encoded: what its encoder was asked for so far.
struct CBOREncodingFrame: BitwiseCopyable {
  enum Kind: UInt8 {
    /// No container was asked for yet.
    case none
    case single, unkeyed, keyed
  }

  /// The serial of containers that cannot be had; no value has it.
  static let refused = UInt64.max

  /// Never used twice, so that a container can tell whether its value is still the one being encoded. 0: there is no
  /// value, and no container has that.
  var serial: UInt64
  var path: CBORCodingPath.Reference
  var kind: Kind
  /// Whether every key so far is behind the one before it.
  var isSorted = true
  /// How many of its entries are containers with a buffer of their own.
  var holeCount: Int32 = 0
  /// How many of its entries the buffer has in its table of names.
  var namedCount: Int32 = 0
  /// Where in the buffer the value begins.
  var start: Int
  /// How many elements, entries, or values it has.
  var count = 0
  /// The first of its entries in the buffer's stack of them.
  var firstEntry: Int
}

/// An entry of a map that is being encoded. Its value ends where the next entry begins.
struct CBOREncodingEntry: BitwiseCopyable {
  var start: Int
  /// Of the key's text; the head is before it.
  var keyLength: Int
  var end: Int
  /// In the buffer's list of holes; -1: the value is in place.
  var hole: Int

  @inline(__always) var keyStart: Int { start &+ CBORWriter.headLength(UInt64(truncatingIfNeeded: keyLength)) }
}
