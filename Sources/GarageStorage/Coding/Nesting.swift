/// How deeply values may be nested in one another, and how many objects may lead to each other.
///
/// Encoding and decoding call themselves for each level of one object. Objects with an identifier are parked one after
/// the other, and retrieving those that lead to each other goes on with another stack when one is used up: see
/// ``RoomyStack``.
enum Nesting {
  /// Values in one object, on the way in. In a release build this keeps encoding within a stack of 512 KiB, the least that
  /// platforms give to a thread; in a debug build it may take eight times as much.
  static let limit = 128

  /// Values in one object, on the way out. A type may read in more steps than it was written in, so there is more room.
  static let decodingLimit = 1_024

  /// Objects that lead to each other through plain properties, in one retrieval. They are all being made at the same time,
  /// each on the stack.
  static let longestChain = 65_536
}
