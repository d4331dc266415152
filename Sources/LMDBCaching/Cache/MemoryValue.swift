import Foundation

/// A value in the memory tier: values of any types side by side, told apart without a dynamic cast.
// Sendable: immutable, and so is the subclass. Its value is Sendable, or one that the caller chose to share between
// threads, as with every object.
@usableFromInline
class MemoryValue: @unchecked Sendable {
  final let type: ObjectIdentifier

  @usableFromInline
  init(type: ObjectIdentifier) { self.type = type }

  /// The value, for a reader that asked for another type than was stored.
  var any: Any { preconditionFailure("abstract") }

  var isCheapToRelease: Bool { true }
}

// Sendable: as the superclass says.
@usableFromInline
final class TypedMemoryValue<V>: MemoryValue, @unchecked Sendable {
  @usableFromInline let value: V

  @usableFromInline
  init(_ value: V) {
    self.value = value
    super.init(type: ObjectIdentifier(V.self))
  }

  override var any: Any { value }
  override var isCheapToRelease: Bool { RawArchiving.isCheapToRelease(V.self) }
}

/// An NSCoding object in the memory tier, which hands out the very instance that was stored, as NSCache and
/// YYCache do.
// Sendable: sharing a mutable object between threads is what the caller of `setObject` chose.
struct SharedObject: @unchecked Sendable {
  let object: any NSCoding
}
