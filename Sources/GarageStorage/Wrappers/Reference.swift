import Platform

/// A property that points to parked objects, retrieved when first read.
///
/// ```swift
/// class Person: Mappable {
///   var id: String { name }
///   var name = ""
///   @Reference var brother: Person?
///   @Reference var siblings: [Person] = []
/// }
/// ```
///
/// Unlike plain properties, it supports cycles and long chains of objects. The first read retrieves the current object
/// from its owner's garage. All references of one retrieval to one object of a class give the same instance during its
/// lifetime.
///
/// Once read or set, a reference holds its object **strongly**, like a plain property: objects that point to each other
/// keep each other alive until ``unload()``. Before that it holds only the garage.
///
/// If an object cannot be retrieved, the property is nil or omits it, ``failure`` is the reason, and ``resolve()``
/// throws. The reference itself is kept and parked again unchanged.
///
/// Reading is as thread-safe as sharing the owner. Parking the owner parks the object again only if the property was
/// read or set. `JSONEncoder` writes only the identifier, and `JSONDecoder` reads objects in place.
@propertyWrapper
public struct Reference<Value: ReferenceTarget> {
  private var boxes: [ReferenceBox<Value.Object>]

  public init(wrappedValue: Value) {
    boxes = wrappedValue.referencedObjects.map { ReferenceBox($0) }
  }

  public init() { boxes = [] }

  init(boxes: [ReferenceBox<Value.Object>]) { self.boxes = boxes }

  /// The objects, retrieved on first access. Omits those that cannot be retrieved, see ``failure``. Setting keeps
  /// currently unavailable objects, so that appending to an array loses nothing.
  public var wrappedValue: Value {
    get { Value(referenced: boxes.compactMap { try? $0.resolve() }) }
    set {
      let unreachable = Value.holdsSeveral ? boxes.filter { $0.failure != nil && !$0.isMissing } : []
      boxes = newValue.referencedObjects.map { ReferenceBox($0) } + unreachable
    }
  }

  /// The reference itself: `$brother`.
  public var projectedValue: Reference<Value> {
    get { self }
    set { self = newValue }
  }

  /// The objects' identifiers, without retrieving them.
  public var identifiers: [String] { boxes.compactMap(\.identifier) }

  /// Whether all objects are in memory.
  public var isLoaded: Bool { boxes.allSatisfy { $0.loaded != nil } }

  /// The reason why an object could not be retrieved at the last read, or `nil`.
  ///
  /// ``GarageError/Code/failedToRetrieveObject`` if it was deleted.
  public var failure: (any Error)? { boxes.lazy.compactMap(\.failure).first }

  /// Returns the objects. Throws if any cannot be retrieved.
  public func resolve() throws -> Value { Value(referenced: try boxes.map { try $0.resolve() }) }

  /// Releases the objects that came from a garage. The next read retrieves them again, or finds the same instances if
  /// they are still alive. Unparked changes are lost with objects released this way.
  public func unload() { boxes.forEach { $0.unload() } }

  /// Removes all objects, including currently unavailable ones.
  public mutating func removeAll() { boxes = [] }
}

extension Reference: Sendable where Value: Sendable {}

extension Reference {
  func encode(with encoder: TreeEncoder) throws {
    guard Value.holdsSeveral else {
      guard let box = boxes.first else { return encoder.slot.set(.null) }
      return try box.encode(into: encoder.slot, encoder.session, at: encoder.codingPath)
    }
    guard encoder.slot.becomeArray() else { return encoder.session.fail(encoder.conflict("a reference")) }
    for (index, box) in boxes.enumerated() {
      try box.encode(into: encoder.slot.element(), encoder.session, at: encoder.codingPath + [IndexKey(index)])
    }
  }
}

extension Reference: Equatable, Hashable {
  /// Whether two references point to the same objects, by type and identifier. Retrieves nothing.
  public static func == (one: Reference, other: Reference) -> Bool {
    one.boxes.map(\.target) == other.boxes.map(\.target)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(boxes.map(\.target)) }
}
