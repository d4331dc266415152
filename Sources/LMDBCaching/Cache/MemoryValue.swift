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
class TypedMemoryValue<V>: MemoryValue, @unchecked Sendable {
  @usableFromInline final let value: V

  @usableFromInline
  init(_ value: V) {
    self.value = value
    super.init(type: ObjectIdentifier(V.self))
  }

  /// The value in a box that knows where it may be released.
  ///
  /// - Parameter archiveLength: How many bytes the value is on the disk: as much memory it holds, roughly.
  @usableFromInline
  static func make(_ value: V, archiveLength: Int) -> TypedMemoryValue<V> {
    archiveLength <= 1024 && !(V.self is AnyClass) ? ShortMemoryValue(value) : TypedMemoryValue(value)
  }

  override var any: Any { value }
  override var isCheapToRelease: Bool { RawArchiving.isCheapToRelease(V.self) }
}

/// A value of which there is so little that handing it to another thread takes longer than releasing it. Not an object,
/// whose `deinit` may do anything.
// Sendable: as the superclass says.
private final class ShortMemoryValue<V>: TypedMemoryValue<V>, @unchecked Sendable {
  override var isCheapToRelease: Bool { true }
}

/// An NSCoding object in the memory tier, which hands out the very instance that was stored, as NSCache and
/// YYCache do.
// Sendable: sharing a mutable object between threads is what the caller of `setObject` chose.
struct SharedObject: @unchecked Sendable {
  let object: any NSCoding
}
