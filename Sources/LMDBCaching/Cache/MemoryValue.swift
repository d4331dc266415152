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

  /// What a look-up finds that asks for a type as which the value is not stored.
  func look(as type: ObjectIdentifier, _ removals: TagRemovals.Words) -> TaggedLook { .otherType }

  /// What tells whether the value of an entry with tags is still there; `nil` if it has none.
  var tagMark: TagMark? { nil }

  /// The same value, for an entry that has tags.
  func tagged(_ mark: TagMark) -> MemoryValue { preconditionFailure("abstract") }
}

/// What is found where a value is not stored as the type that is asked for.
enum TaggedLook {
  case otherType
  /// It is of the type, and nothing that it is tagged with was removed.
  case current
  /// It is of the type, and perhaps removed. The disk knows.
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

  /// The value in a box that knows where it may be released.
  ///
  /// - Parameter archiveLength: How many bytes the value is on the disk: as much memory it holds, roughly.
  @usableFromInline
  static func make(_ value: V, archiveLength: Int) -> TypedMemoryValue<V> {
    archiveLength <= 1024 && !(V.self is AnyClass) ? ShortMemoryValue(value) : TypedMemoryValue(value)
  }

  override var any: Any { value }
  override var isCheapToRelease: Bool { RawArchiving.isCheapToRelease(V.self) }
  override func tagged(_ mark: TagMark) -> MemoryValue { TaggedMemoryValue(value, mark) }
}

/// The value of an entry that has tags. It is stored as another type, so that only who looks for the tags finds it: a hit
/// on any other value does not ask for them.
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
