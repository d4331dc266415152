/// Limits on nested values and on chains of objects.
///
/// Coding recurses for each level of one object. Identified objects are parked one after the other, and retrieving a
/// chain of them continues on another stack when one is used up: see ``RoomyStack``.
enum Nesting {
  /// The limit for encoding values in one object. Keeps a release build within a stack of 512 KiB, the least that
  /// platforms give a thread; a debug build may need eight times as much.
  static let limit = 128

  /// The limit for decoding values in one object. Larger, because a type may decode in more steps than it encodes.
  static let decodingLimit = 1_024

  /// The limit of objects that lead to each other through plain properties in one retrieval. All of them are under
  /// construction at once, each on the stack.
  static let longestChain = 65_536
}
