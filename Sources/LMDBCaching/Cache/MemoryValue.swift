import Foundation

/// A value in the memory tier: values of any types side by side, told apart without a dynamic cast.
class MemoryValue: @unchecked Sendable {  // Sendable: immutable, and so is the subclass, over a Sendable value.
  final let type: ObjectIdentifier

  fileprivate init(type: ObjectIdentifier) { self.type = type }

  /// The value, for a reader that asked for another type than was stored.
  var any: any Sendable { preconditionFailure("abstract") }

  var isCheapToRelease: Bool { true }

  /// The value, if it is of exactly this type.
  @inline(__always)
  final func value<V: Sendable>(as type: V.Type) -> V? {
    guard self.type == ObjectIdentifier(type) else { return nil }
    return unsafeDowncast(self, to: TypedMemoryValue<V>.self).value
  }
}

// Sendable: as the superclass says.
final class TypedMemoryValue<V: Sendable>: MemoryValue, @unchecked Sendable {
  let value: V

  init(_ value: V) {
    self.value = value
    super.init(type: ObjectIdentifier(V.self))
  }

  override var any: any Sendable { value }
  override var isCheapToRelease: Bool { RawArchiving.isCheapToRelease(V.self) }
}

/// An NSCoding object in the memory tier, which hands out the very instance that was stored, as NSCache and
/// YYCache do.
// Sendable: sharing a mutable object between threads is what the caller of `setObject` chose.
struct SharedObject: @unchecked Sendable {
  let object: any NSCoding
}
