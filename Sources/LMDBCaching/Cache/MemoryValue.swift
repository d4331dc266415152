import Foundation

/// A value in the memory tier. Types are distinguished without a dynamic cast.
// Sendable: immutable, and so is the subclass. Its value is Sendable, or the caller chose to share it between threads,
// as with every object.
@usableFromInline
class MemoryValue: @unchecked Sendable {
  final let type: ObjectIdentifier

  @usableFromInline
  init(type: ObjectIdentifier) { self.type = type }

  var any: Any { preconditionFailure("abstract") }

  var isCheapToRelease: Bool { true }

  /// The result of a look-up for another type than the stored one.
  func look(as type: ObjectIdentifier, _ removals: TagRemovals.Words) -> TaggedLook { .otherType }

  /// Detects removals by tag; `nil` without tags.
  var tagMark: TagMark? { nil }

  func tagged(_ mark: TagMark) -> MemoryValue { preconditionFailure("abstract") }
}

extension MemoryValue {
  /// The value, whose ``type`` the caller has compared with this one.
  @unsafe @inlinable @inline(__always)
  func value<V>(_ type: V.Type) -> V { unsafe unsafeDowncast(self, to: TypedMemoryValue<V>.self).value }
}

enum TaggedLook {
  case otherType
  /// The type matches, and no tag was removed.
  case current
  /// The type matches, but a tag may have been removed; ask the disk.
  case touched(stamp: UInt64)
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

  fileprivate init(_ value: V, storedAs type: ObjectIdentifier) {
    self.value = value
    super.init(type: type)
  }

  /// Boxes the value, with its deallocation rule.
  ///
  /// - Parameter archiveLength: The bytes on the disk, an estimate of the bytes in memory.
  @usableFromInline
  static func make(_ value: V, archiveLength: Int) -> TypedMemoryValue<V> {
    archiveLength <= 1024 && !(V.self is AnyClass) ? ShortMemoryValue(value) : TypedMemoryValue(value)
  }

  override var any: Any { value }
  override var isCheapToRelease: Bool { RawArchiving.isCheapToRelease(V.self) }
  override func tagged(_ mark: TagMark) -> MemoryValue { TaggedMemoryValue(value, mark) }
}

/// The value of an entry with tags. Stored as another type, so that hits on other values need not check tags.
// Sendable: as the superclass says.
private final class TaggedMemoryValue<V>: TypedMemoryValue<V>, @unchecked Sendable {
  private let mark: TagMark

  init(_ value: V, _ mark: TagMark) {
    self.mark = mark
    super.init(value, storedAs: ObjectIdentifier(TaggedMemoryValue<V>.self))
  }

  override var tagMark: TagMark? { mark }

  override func look(as type: ObjectIdentifier, _ removals: TagRemovals.Words) -> TaggedLook {
    guard type == ObjectIdentifier(V.self) else { return .otherType }
    return mark.isUntouched(by: removals) ? .current : .touched(stamp: mark.stamp)
  }
}

/// A value so small that handing it to another thread takes longer than releasing it. Never an object, whose `deinit`
/// may do anything.
// Sendable: as the superclass says.
private final class ShortMemoryValue<V>: TypedMemoryValue<V>, @unchecked Sendable {
  override var isCheapToRelease: Bool { true }
}

/// An NSCoding object in the memory tier, which returns the stored instance, as NSCache and YYCache do.
// Sendable: the caller of `setObject` chose to share a mutable object between threads.
struct SharedObject: @unchecked Sendable {
  let object: any NSCoding
}
