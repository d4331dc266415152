/// A property that points to parked objects, which are retrieved when it is first read.
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
/// Objects that point to each other, in cycles or in long chains, can be parked and retrieved with it, where plain
/// properties cannot. The first read retrieves the object from the garage that its owner came from, as it is stored by
/// then. All references of one retrieval that point to an object of a class give the same instance, as long as that
/// lives.
///
/// A reference holds its object **strongly** once it was read or set, as a plain property does: objects that point to
/// each other keep each other alive until ``unload()``. Until it is read it holds none, but the garage.
///
/// If the object cannot be retrieved, the property is nil, or without it, and ``failure`` says why; ``resolve()``
/// throws. What the property points to is kept, and parked again as it is.
///
/// Reading from several threads is safe where sharing the owner is. An owner that is parked without the property having
/// been read leaves the object as it is; otherwise the object is parked again with it. `JSONEncoder` writes the
/// identifier only, and `JSONDecoder` reads objects that are in place.
@propertyWrapper
public struct Reference<Value: ReferenceTarget> {
  private var boxes: [ReferenceBox<Value.Object>]

  public init(wrappedValue: Value) {
    boxes = wrappedValue.referencedObjects.map { ReferenceBox($0) }
  }

  public init() { boxes = [] }

  init(boxes: [ReferenceBox<Value.Object>]) { self.boxes = boxes }

  /// The objects. Reading it retrieves them, if they are not yet. What cannot be retrieved is left out, see ``failure``;
  /// setting leaves what is out of reach for now, so that adding to an array loses nothing.
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

  /// The identifiers of the objects, without retrieving them.
  public var identifiers: [String] { boxes.compactMap(\.identifier) }

  /// Whether the objects are in memory, all of them.
  public var isLoaded: Bool { boxes.allSatisfy { $0.loaded != nil } }

  /// Why an object could not be retrieved when the property was last read. It is `nil` if all of them were.
  ///
  /// ``GarageError/Code/failedToRetrieveObject`` if it was deleted.
  public var failure: (any Error)? { boxes.lazy.compactMap(\.failure).first }

  /// The objects; throws if any of them cannot be retrieved.
  public func resolve() throws -> Value { Value(referenced: try boxes.map { try $0.resolve() }) }

  /// Lets go of the objects that came from a garage. The next read retrieves them again, as the same instances if
  /// something else keeps them alive. Changes that were not parked are lost with an object that nothing else holds.
  public func unload() { boxes.forEach { $0.unload() } }

  /// Points to nothing any more, also to what is out of reach for now.
  public mutating func removeAll() { boxes = [] }
}

extension Reference: Sendable where Value: Sendable {}

extension Reference {
  /// Parks what stands in the property's place.
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
  /// Two references are equal if they point to the same objects, by type and identifier. Nothing is retrieved.
  public static func == (one: Reference, other: Reference) -> Bool {
    one.boxes.map(\.target) == other.boxes.map(\.target)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(boxes.map(\.target)) }
}
